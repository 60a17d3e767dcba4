import { durationMs, list, oneOf, optionalBoolean, path } from '../flags/flag.ts';

/** Flags of authentication, besides those of OpenID Connect and of service account tokens. */
export const authenticationFlags = {
  'client-ca-file': path({
    default: '',
    help: 'CA bundle for client certificates: the common name is the user name, organizations are groups. Reloaded when it changes.',
  }),
  'requestheader-client-ca-file': path({
    default: '',
    help: 'CA bundle for client certificates of front proxies, whose --requestheader-* headers are trusted. Reloaded when it changes.',
  }),
  'requestheader-allowed-names': list({
    default: '',
    help: 'Allowed common names of front proxy certificates; empty allows all.',
  }),
  'requestheader-username-headers': list({
    default: 'X-Remote-User',
    help: 'Headers to read the user name from; the first one present is used.',
  }),
  'requestheader-uid-headers': list({
    default: 'X-Remote-Uid',
    help: 'Headers to read the UID from; the first one present is used.',
  }),
  'requestheader-group-headers': list({
    default: 'X-Remote-Group',
    help: 'Headers to read groups from, one group per header line.',
  }),
  'requestheader-extra-headers-prefix': list({
    default: 'X-Remote-Extra-',
    help: 'Prefixes of headers to read extra attributes of the user from.',
  }),
  'token-auth-file': path({
    default: '',
    help: 'Static bearer tokens: lines of token,user,uid,"group1,group2".',
  }),
  'authentication-token-webhook-config-file': path({
    default: '',
    help: 'Kubeconfig with the address and the credentials of the token webhook. Reloaded when it changes.',
  }),
  'authentication-token-webhook-version': oneOf<'v1beta1' | 'v1'>(
    { default: 'v1beta1', help: 'Version of the TokenReview sent to the webhook.' },
    ['v1beta1', 'v1'],
  ),
  'authentication-token-webhook-cache-ttl': durationMs({
    default: '2m0s',
    help: 'Time to cache authenticated tokens of the webhook; 0 disables the cache.',
  }),
  'authentication-config': path({
    default: '',
    help: 'File with the AuthenticationConfiguration: JWT issuers and anonymous requests. Reloaded when it changes.',
  }),
  'anonymous-auth': optionalBoolean({
    help: 'Serve requests without credentials as system:anonymous in the group system:unauthenticated. Excludes anonymous in --authentication-config.',
  }),
  'egress-selector-config-file': path({
    default: '',
    help: 'File with the EgressSelectorConfiguration: proxies for connections to issuers of --authentication-config.',
  }),
};
