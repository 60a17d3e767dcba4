import { durationMs, list, path, text } from '../flags/flag.ts';

export const serviceAccountFlags = {
  'service-account-issuer': list({
    default: '',
    help: 'Issuer (iss) of service account tokens; the first signs, all are accepted. Should be an https URL. Without it, no tokens are issued.',
  }),
  'service-account-signing-key-file': path({
    default: '',
    help: 'Private key to sign service account tokens with, RSA or EC in PEM. Reloaded when it changes.',
  }),
  'service-account-key-file': list({
    default: '',
    help: 'Additional keys to verify service account tokens with, public or private, RSA or EC in PEM. Reloaded when they change.',
  }),
  'service-account-max-token-expiration': durationMs({
    default: '0s',
    help: 'Maximum lifetime of service account tokens, at least 1h; longer requests are shortened to it. 0 for no limit below 2^32 seconds.',
  }),
  'service-account-jwks-uri': text(
    {
      default: '',
      help: 'URL of the key set in /.well-known/openid-configuration. Defaults to /openid/v1/jwks below the issuer.',
    },
    'url',
  ),
  'api-audiences': list({
    default: '',
    help: 'Audiences accepted in service account tokens. Defaults to the service account issuers.',
  }),
};
