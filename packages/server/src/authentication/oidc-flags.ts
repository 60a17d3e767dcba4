import { list, pair, path, text } from '../flags/flag.ts';

export const oidcFlags = {
  'oidc-issuer-url': text('URL of the OpenID issuer, with https. Excludes --authentication-config.', '', 'url'),
  'oidc-client-id': text('Required audience of ID tokens.'),
  'oidc-ca-file': path("CA bundle to verify the issuer's certificate. Defaults to the CAs of the system."),
  'oidc-username-claim': text('Claim to use as the user name.', 'sub'),
  'oidc-username-prefix': text(
    'Prefix of user names; - for none. Defaults to the issuer and #, or to none for the claim email.',
  ),
  'oidc-groups-claim': text('Claim to use as the groups.'),
  'oidc-groups-prefix': text('Prefix of group names.'),
  'oidc-required-claim': pair('Required claim and its value. Can be repeated.'),
  'oidc-signing-algs': list('Accepted signing algorithms: RS, ES and PS with 256, 384 or 512, EdDSA.', 'RS256'),
};
