import type { Endpoint, Health } from '@cluster-apiserver/telemetry';
import type { Document, Documents } from './documents.ts';
import { textResponse } from './respond.ts';

const endpoints: readonly Endpoint[] = ['livez', 'readyz', 'healthz'];

/** `/livez`, `/readyz` and `/healthz`, whole and check by check. */
export function healthDocuments(health: Health): Documents {
  const documents = endpoints.flatMap((endpoint): [string, Document][] => {
    const document: Document = async ({ auditId, info: { query } }, { check }) => {
      const question = { verbose: query.has('verbose'), exclude: query.getAll('exclude') };
      const { status, text } =
        check === undefined ? await health.checkAll(endpoint, question) : await health.checkOne(endpoint, check);
      return textResponse(auditId, status, text);
    };
    return [
      [`/${endpoint}`, document],
      // The name of a check may have slashes, such as poststarthook/rbac/bootstrap-roles.
      [`/${endpoint}/*check`, document],
    ];
  });
  return Object.fromEntries(documents);
}
