// The library asks for the metadata functions of Reflect while it loads, so they come first.
import 'reflect-metadata';

declare global {
  /** The library's types extend this interface of browsers, which Node's types lack. */
  interface Algorithm {
    readonly name: string;
  }
}

export {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  type JsonGeneralNames,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
