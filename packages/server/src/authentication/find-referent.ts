import type { FindReferent } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { get, getAnyVersion, type LiveApi } from '@cluster-apiserver/registry';

/** Looks up what tokens rely on in the watch cache, or in etcd if asked for a fresh read. */
export function createFindReferent(api: LiveApi): FindReferent {
  const resources = {
    ServiceAccount: api.byGroupKind('', 'ServiceAccount'),
    Secret: api.byGroupKind('', 'Secret'),
  };
  return ({ kind, ...place }, freshly, call) => {
    const resource = resources[kind];
    if (!resource) return undefined;
    try {
      const found = freshly ? get(resource, place, undefined, call) : getAnyVersion(resource, place, call);
      return found instanceof Promise ? found.catch(ignoreAbsent) : found;
    } catch (error) {
      return ignoreAbsent(error);
    }
  };
}

function ignoreAbsent(error: unknown): undefined {
  if (error instanceof StatusError && absentReasons.includes(error.reason)) return undefined;
  throw error;
}

/** The object does not exist, or its name is invalid. */
const absentReasons: readonly StatusError['reason'][] = ['NotFound', 'BadRequest'];
