export { type CertificateAuthority, createAuthority, openAuthority } from './authority.ts';
export {
  type CertificateRequest,
  CertificateRequestError,
  readCertificateRequest,
} from './certificate-request.ts';
export type { CertificateNames } from './extensions.ts';
export { type Credentials, generatePrivateKey } from './keys.ts';
export { openSigner, type Signer } from './signer.ts';
export { createSelfSigned } from './self-signed.ts';
export {
  type Authorities,
  readAuthorities,
  sharesAuthority,
  UntrustedCertificateError,
  type VerifiedCertificate,
  verifyClient,
} from './verify.ts';
