import { durationMs, list, oneOf, openSwitch, path } from '../flag.ts';

/** Flags of authentication, besides those of OpenID Connect and of service account tokens. */
export const authenticationFlags = {
  'client-ca-file': path({
    fallback: '',
    help: 'Authorities of client certificates: the common name is the user, each organization a group. It is read again when it changes.',
  }),
  'requestheader-client-ca-file': path({
    fallback: '',
    help: 'Authorities of front proxies, whose headers are believed. It is read again when it changes.',
  }),
  'requestheader-allowed-names': list({
    fallback: '',
    help: 'Common names that the certificates of front proxies have; empty means any.',
  }),
  'requestheader-username-headers': list({
    fallback: 'X-Remote-User',
    help: 'Headers in which a front proxy names the user. The first that is there counts.',
  }),
  'requestheader-uid-headers': list({
    fallback: 'X-Remote-Uid',
    help: "Headers in which it names the user's UID. The first that is there counts.",
  }),
  'requestheader-group-headers': list({
    fallback: 'X-Remote-Group',
    help: 'Headers in which it names a group of the user, each in a line of its own.',
  }),
  'requestheader-extra-headers-prefix': list({
    fallback: 'X-Remote-Extra-',
    help: 'What the headers begin with that hold whatever else it knows of the user.',
  }),
  'token-auth-file': path({
    fallback: '',
    help: 'Static bearer tokens: lines of token,user,uid,"group1,group2".',
  }),
  'authentication-token-webhook-config-file': path({
    fallback: '',
    help: 'A kubeconfig that says whom to ask about tokens that nobody here knows, and with which credentials.',
  }),
  'authentication-token-webhook-version': oneOf<'v1beta1' | 'v1'>(
    { fallback: 'v1beta1', help: 'The version of TokenReview that it is asked with.' },
    ['v1beta1', 'v1'],
  ),
  'authentication-token-webhook-cache-ttl': durationMs({
    fallback: '2m0s',
    help: 'How long its answers are remembered; 0 to ask each time.',
  }),
  'authentication-config': path({
    fallback: '',
    help: 'An AuthenticationConfiguration: whose signed tokens are believed, and what needs none. It is read again when it changes.',
  }),
  'anonymous-auth': openSwitch({
    help: 'Let requests without any credential come in as system:anonymous, of the group system:unauthenticated. Not together with anonymous in --authentication-config.',
  }),
  'egress-selector-config-file': path({
    fallback: '',
    help: 'An EgressSelectorConfiguration: through which proxies issuers of --authentication-config are reached.',
  }),
};
