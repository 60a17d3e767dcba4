import { durationMs, list, oneOf, path } from '../flags/flag.ts';

export const authorizationFlags = {
  'authorization-config': path({
    default: '',
    help: 'AuthorizationConfiguration with the ordered authorizers. Reloaded when it changes. Excludes --authorization-mode and --authorization-webhook-*.',
  }),
  'authorization-mode': list({
    default: '',
    help: 'Ordered authorizers: RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny. Defaults to RBAC unless --authorization-config is set.',
  }),
  'authorization-modes': list({
    default: '',
    help: 'Alias of --authorization-mode.',
  }),
  'authorization-policy-file': path({
    default: '',
    help: 'Policies of the authorizer ABAC: one Policy in JSON per line. Reloaded when it changes.',
  }),
  'authorization-webhook-config-file': path({
    default: '',
    help: 'Kubeconfig with the address and the credentials of the authorizer Webhook. Reloaded when it changes.',
  }),
  'authorization-webhook-version': oneOf<'v1beta1' | 'v1'>(
    {
      default: 'v1beta1',
      help: 'Version of the SubjectAccessReview sent to and expected from the webhook.',
    },
    ['v1beta1', 'v1'],
  ),
  'authorization-webhook-cache-authorized-ttl': durationMs({
    default: '5m0s',
    help: 'Time to cache authorized responses of the webhook; 0 disables the cache for them.',
  }),
  'authorization-webhook-cache-unauthorized-ttl': durationMs({
    default: '30s',
    help: 'Time to cache unauthorized responses of the webhook; 0 disables the cache for them.',
  }),
  'authorization-always-allow-paths': list({
    default: '/healthz,/readyz,/livez',
    help: 'Paths to allow GET and HEAD on without authorization; a trailing * matches any rest. Also open to requests without credentials unless --anonymous-auth or anonymous in --authentication-config is set.',
  }),
};
