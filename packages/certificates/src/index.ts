export { type CertificateAuthority, createAuthority, openAuthority } from './authority.ts';
export type { Names } from './extensions.ts';
export { type Credentials, newPrivateKey } from './keys.ts';
export { selfSigned } from './self-signed.ts';
export {
  type Authorities,
  readAuthorities,
  sharesAuthority,
  UntrustedCertificateError,
  type Verified,
  verifyClient,
} from './verify.ts';
