import type { FindReferent, FoundReferent } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { uidOf } from '@cluster-apiserver/model/codec';
import { get, getAnyVersion, type LiveApi } from '@cluster-apiserver/registry';

/** Looks up what tokens rely on in the watch cache, or in etcd if asked for a fresh read. */
export function createFindReferent(api: LiveApi): FindReferent {
  const resources = {
    ServiceAccount: api.current.byGroupKind('', 'ServiceAccount'),
    Secret: api.current.byGroupKind('', 'Secret'),
  };
  return ({ kind, ...place }, freshly, call) => {
    const resource = resources[kind];
    if (!resource) return undefined;
    try {
      const found = freshly ? get(resource, place, undefined, call) : getAnyVersion(resource, place, call);
      return found instanceof Promise ? found.then(toFoundReferent, ignoreAbsent) : toFoundReferent(found);
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

/** Decoding the object would cost more than the rest of the lookup, and only one under deletion requires it. */
function toFoundReferent(stored: Awaited<ReturnType<typeof getAnyVersion>>): FoundReferent | undefined {
  if (!stored) return undefined;
  const uid = uidOf(stored.json);
  if (!stored.json.includes(',"deletionTimestamp":"')) return { uid, deletedAtMs: undefined };
  const { deletionTimestamp } = stored.object.metadata;
  return { uid, deletedAtMs: deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp) };
}
