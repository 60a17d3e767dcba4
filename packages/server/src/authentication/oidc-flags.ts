import { list, pair, path, text } from '../flags/flag.ts';

export const oidcFlags = {
  'oidc-issuer-url': text(
    {
      default: '',
      help: 'URL of the OpenID issuer, with https. Excludes --authentication-config.',
    },
    'url',
  ),
  'oidc-client-id': text({ default: '', help: 'Required audience of ID tokens.' }),
  'oidc-ca-file': path({
    default: '',
    help: "CA bundle to verify the issuer's certificate. Defaults to the CAs of the system.",
  }),
  'oidc-username-claim': text({ default: 'sub', help: 'Claim to use as the user name.' }),
  'oidc-username-prefix': text({
    default: '',
    help: 'Prefix of user names; - for none. Defaults to the issuer and #, or to none for the claim email.',
  }),
  'oidc-groups-claim': text({ default: '', help: 'Claim to use as the groups.' }),
  'oidc-groups-prefix': text({ default: '', help: 'Prefix of group names.' }),
  'oidc-required-claim': pair({
    default: '',
    help: 'Required claim and its value. Can be repeated.',
  }),
  'oidc-signing-algs': list({
    default: 'RS256',
    help: 'Accepted signing algorithms: RS, ES and PS with 256, 384 or 512, EdDSA.',
  }),
};
