import type { PublicKey, ServiceAccountKeys } from './keys.ts';

/** The document of OpenID Connect Discovery 1.0, by which other services verify tokens of this server. */
export interface IssuerMetadata {
  readonly issuer: string;
  readonly jwks_uri: string;
  readonly response_types_supported: readonly string[];
  readonly subject_types_supported: readonly string[];
  readonly id_token_signing_alg_values_supported: readonly string[];
}

export const createIssuerMetadata = (
  issuer: string,
  keySetUri: string,
  { verifying }: ServiceAccountKeys,
): IssuerMetadata => ({
  issuer,
  jwks_uri: keySetUri,
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [...new Set(verifying.map(({ alg }) => alg))].sort(),
});

export const createKeySet = ({ verifying }: ServiceAccountKeys): { readonly keys: readonly PublicKey[] } => ({
  keys: verifying,
});
