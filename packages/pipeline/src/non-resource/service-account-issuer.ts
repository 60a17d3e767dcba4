import type { NonResourceRoutes } from './router.ts';
import { textResponse } from '../responses.ts';

/** What relying parties need to verify service account tokens. */
export interface PublishedIssuer {
  readonly metadata: () => object;
  readonly keySet: () => object;
}

/** The paths of OpenID Connect Discovery 1.0. */
export const issuerPaths = { metadata: '/.well-known/openid-configuration', keySet: '/openid/v1/jwks' } as const;

/** Verifiers may cache for this long: a new key is published for an hour before it signs. */
const cacheControl = 'public, max-age=3600';

export const issuerRoutes = ({ metadata, keySet }: PublishedIssuer): NonResourceRoutes => ({
  [issuerPaths.metadata]: ({ auditId }) =>
    textResponse(auditId, 200, JSON.stringify(metadata()), {
      'cache-control': cacheControl,
      'content-type': 'application/json',
    }),
  [issuerPaths.keySet]: ({ auditId }) =>
    textResponse(auditId, 200, JSON.stringify(keySet()), {
      'cache-control': cacheControl,
      'content-type': 'application/jwk-set+json',
    }),
});
