import { durationMs, list, path, text } from '../flags/flag.ts';

export const serviceAccountFlags = {
  'service-account-issuer': list(
    'Issuer (iss) of service account tokens; the first signs, all are accepted. Should be an https URL. Without it, no tokens are issued.',
  ),
  'service-account-signing-key-file': path(
    'Private key to sign service account tokens with, RSA or EC in PEM. Reloaded when it changes.',
  ),
  'service-account-key-file': list(
    'Additional keys to verify service account tokens with, public or private, RSA or EC in PEM. Reloaded when they change.',
  ),
  'service-account-max-token-expiration': durationMs(
    'Maximum lifetime of service account tokens, at least 1h; longer requests are shortened to it. 0 for no limit below 2^32 seconds.',
    '0s',
  ),
  'service-account-jwks-uri': text(
    'URL of the key set in /.well-known/openid-configuration. Defaults to /openid/v1/jwks below the issuer.',
    '',
    'url',
  ),
  'api-audiences': list('Audiences accepted in service account tokens. Defaults to the service account issuers.'),
};
