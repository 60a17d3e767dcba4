import type { Random } from '@cluster-apiserver/base';
import { isUsableKey, readBasicConstraints } from './certificate.ts';
import type { CertificateRequest } from './certificate-request.ts';
import {
  encodeAlternativeNames,
  encodeBasicConstraints,
  encodeExtendedKeyUsage,
  encodeKeyUsage,
  extendedKeyUsages,
  keyUsages,
  nameTags,
} from './extensions.ts';
import { algorithmOf, issueCertificate, openIssuer } from './issue.ts';
import type { Credentials } from './keys.ts';
import { attributes, encodeName } from './names.ts';
import type { Validity } from './validity.ts';

/** Signs requests with the key of a CA. */
export interface Signer {
  /** When its own certificate expires. */
  readonly notAfterMs: number;
  /** Returns the certificate in PEM. Throws a CertificateRequestError if the request cannot be read. */
  sign(request: CertificateRequest, wanted: WantedCertificate, random: Random): Promise<string>;
}

export interface WantedCertificate extends Validity {
  /** What the key may be used for, of those of a client. */
  readonly usages: readonly string[];
}

/** The usages that a client certificate may have, in the words of the API. */
const clientUsages = new Map<string, { readonly bit?: number; readonly extended?: string }>([
  ['digital signature', { bit: keyUsages.digitalSignature }],
  ['key encipherment', { bit: keyUsages.keyEncipherment }],
  ['client auth', { extended: extendedKeyUsages.clientAuth }],
]);

/** Throws if the certificate is not that of a CA, or the key not that of the certificate. */
export function openSigner(credentials: Credentials): Signer {
  const issuer = openIssuer(credentials);
  const { certificate, key } = issuer;
  if (!readBasicConstraints(certificate).isAuthority) throw new Error('it is not the certificate of an authority');
  if (!isUsableKey(certificate.openSsl.publicKey)) throw new Error('the key is weak, or of an unsupported type');
  algorithmOf(key); // refused now, and not with the first request
  return {
    notAfterMs: certificate.notAfterMs,
    sign: (request, { usages, ...validity }, random) => {
      const subject = encodeSubject(request);
      const known = usages.flatMap((usage) => clientUsages.get(usage) ?? []);
      const content = {
        ...validity,
        subject,
        publicKey: request.encodedPublicKey,
        extensions: [
          ...encodeKeyUsage(known.reduce((sum, { bit = 0 }) => sum + bit, 0)),
          ...encodeExtendedKeyUsage(known.flatMap(({ extended = [] }) => extended)),
          encodeBasicConstraints(false),
          ...encodeAlternativeNames(selectNames(request), subject.equals(noName)),
        ],
      };
      return issueCertificate(issuer, content, random);
    },
  };
}

const noName = encodeName([]);

/**
 * The attributes of a subject that are taken over, in the order of Go. Others are left out, as in Kubernetes: authentication
 * reads the uid of a user from one of them.
 */
const { commonName, country, locality, organization, postalCode, province, serialNumber, street, unit } = attributes;
const repeated = [country, organization, unit, locality, province, street, postalCode];
/** Only the last one counts. */
const single = [commonName, serialNumber];

const encodeSubject = (request: CertificateRequest): Buffer =>
  encodeName(
    [
      ...repeated.map((id) => [id, ...request.subject(id)] as const),
      ...single.map((id) => [id, ...request.subject(id).slice(-1).filter(Boolean)] as const),
    ].filter(([, ...values]) => values.length > 0),
  );

/** Host names, mail addresses, IP addresses and URIs, in the order of Go; others are left out. */
function selectNames(request: CertificateRequest): ReturnType<CertificateRequest['alternativeNames']> {
  const names = request.alternativeNames();
  return [nameTags.dns, nameTags.email, nameTags.ip, nameTags.uri].flatMap((tag) =>
    names.filter((name) => name.tag === tag),
  );
}
