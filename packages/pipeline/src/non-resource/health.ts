import type { Endpoint, Health } from '@cluster-apiserver/telemetry';
import type { NonResourceHandler } from './live-routes.ts';
import type { NonResourceRoutes } from './router.ts';
import { textResponse } from '../responses.ts';

const endpoints: readonly Endpoint[] = ['livez', 'readyz', 'healthz'];

/** `/livez`, `/readyz` and `/healthz`, with a path for each check. */
export function healthRoutes(health: Health): NonResourceRoutes {
  const routes = endpoints.flatMap((endpoint): [string, NonResourceHandler][] => {
    const handler: NonResourceHandler = async ({ auditId, info: { query } }, { check }) => {
      const question = { verbose: query.has('verbose'), exclude: query.getAll('exclude') };
      const { status, text } =
        check === undefined ? await health.checkAll(endpoint, question) : await health.checkOne(endpoint, check);
      return textResponse(auditId, status, text);
    };
    return [
      [`/${endpoint}`, handler],
      // Names of checks may contain slashes, such as poststarthook/rbac/bootstrap-roles.
      [`/${endpoint}/*check`, handler],
    ];
  });
  return Object.fromEntries(routes);
}
