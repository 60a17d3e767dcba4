import {
  encodeAlternativeNames,
  encodeBasicConstraints,
  encodeExtendedKeyUsage,
  encodeKeyUsage,
  encodeSubjectKey,
  extendedKeyUsages,
  keyUsages,
  toName,
} from './extensions.ts';

const { clientAuth, serverAuth } = extendedKeyUsages;

/** A peer is a member of a cluster: it has one certificate as server and as client. */
const usagesOf = { server: [serverAuth], client: [clientAuth], peer: [serverAuth, clientAuth] };

/** The extensions of a certificate that signs no others. */
export const leafExtensions = (
  use: keyof typeof usagesOf,
  publicKey: Buffer,
  hosts: readonly string[],
): readonly Buffer[] => [
  encodeBasicConstraints(false),
  ...encodeKeyUsage(keyUsages.digitalSignature),
  ...encodeExtendedKeyUsage(usagesOf[use]),
  encodeSubjectKey(publicKey),
  ...encodeAlternativeNames(hosts.map(toName)),
];
