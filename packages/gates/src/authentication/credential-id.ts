/** The key of the extra value that identifies the credential of a user in audit events, as in kube-apiserver. */
export const credentialIdKey = 'authentication.kubernetes.io/credential-id';

/** The credential ID of a token with this claim `jti`; undefined if it has none. */
export const tokenCredentialId = (jti: unknown): string | undefined =>
  typeof jti === 'string' && jti !== '' ? `JTI=${jti}` : undefined;
