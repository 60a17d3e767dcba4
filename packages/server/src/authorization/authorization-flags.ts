import { durationMs, list, oneOf, path } from '../flags/flag.ts';

export const authorizationFlags = {
  'authorization-config': path(
    'AuthorizationConfiguration with the ordered authorizers. Reloaded when it changes. Excludes --authorization-mode and --authorization-webhook-*.',
  ),
  'authorization-mode': list(
    'Ordered authorizers: RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny. Defaults to RBAC unless --authorization-config is set.',
  ),
  'authorization-modes': list('Alias of --authorization-mode.'),
  'authorization-policy-file': path(
    'Policies of the authorizer ABAC: one Policy in JSON per line. Reloaded when it changes.',
  ),
  'authorization-webhook-config-file': path(
    'Kubeconfig with the address and the credentials of the authorizer Webhook. Reloaded when it changes.',
  ),
  'authorization-webhook-version': oneOf<'v1beta1' | 'v1'>(
    'Version of the SubjectAccessReview sent to and expected from the webhook.',
    'v1beta1',
    ['v1beta1', 'v1'],
  ),
  'authorization-webhook-cache-authorized-ttl': durationMs(
    'Time to cache authorized responses of the webhook; 0 disables the cache for them.',
    '5m0s',
  ),
  'authorization-webhook-cache-unauthorized-ttl': durationMs(
    'Time to cache unauthorized responses of the webhook; 0 disables the cache for them.',
    '30s',
  ),
  'authorization-always-allow-paths': list(
    'Paths to allow GET and HEAD on without authorization; a trailing * matches any rest. Also open to requests without credentials unless --anonymous-auth or anonymous in --authentication-config is set.',
    '/healthz,/readyz,/livez',
  ),
};
