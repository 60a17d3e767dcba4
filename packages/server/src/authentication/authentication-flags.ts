import { durationMs, list, oneOf, optionalBoolean, path } from '../flags/flag.ts';

/** Flags of authentication, besides those of OpenID Connect and of service account tokens. */
export const authenticationFlags = {
  'client-ca-file': path(
    'CA bundle for client certificates: the common name is the user name, organizations are groups. Reloaded when it changes.',
  ),
  'requestheader-client-ca-file': path(
    'CA bundle for client certificates of front proxies, whose --requestheader-* headers are trusted. Reloaded when it changes.',
  ),
  'requestheader-allowed-names': list('Allowed common names of front proxy certificates; empty allows all.'),
  'requestheader-username-headers': list(
    'Headers to read the user name from; the first one present is used.',
    'X-Remote-User',
  ),
  'requestheader-uid-headers': list('Headers to read the UID from; the first one present is used.', 'X-Remote-Uid'),
  'requestheader-group-headers': list('Headers to read groups from, one group per header line.', 'X-Remote-Group'),
  'requestheader-extra-headers-prefix': list(
    'Prefixes of headers to read extra attributes of the user from.',
    'X-Remote-Extra-',
  ),
  'token-auth-file': path('Static bearer tokens: lines of token,user,uid,"group1,group2".'),
  'authentication-token-webhook-config-file': path(
    'Kubeconfig with the address and the credentials of the token webhook. Reloaded when it changes.',
  ),
  'authentication-token-webhook-version': oneOf<'v1beta1' | 'v1'>(
    'Version of the TokenReview sent to the webhook.',
    'v1beta1',
    ['v1beta1', 'v1'],
  ),
  'authentication-token-webhook-cache-ttl': durationMs(
    'Time to cache authenticated tokens of the webhook; 0 disables the cache.',
    '2m0s',
  ),
  'authentication-config': path(
    'File with the AuthenticationConfiguration: JWT issuers and anonymous requests. Reloaded when it changes.',
  ),
  'anonymous-auth': optionalBoolean(
    'Serve requests without credentials as system:anonymous in the group system:unauthenticated. Excludes anonymous in --authentication-config.',
  ),
  'egress-selector-config-file': path(
    'File with the EgressSelectorConfiguration: proxies for connections to issuers of --authentication-config.',
  ),
};
