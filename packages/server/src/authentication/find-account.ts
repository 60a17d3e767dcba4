import type { FindAccount, FoundAccount } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { uidOf } from '@cluster-apiserver/model/codec';
import { get, getAnyVersion, type LiveApi } from '@cluster-apiserver/registry';

/** Looks up service accounts in the watch cache, or in etcd if asked for a fresh read. */
export function createFindAccount(api: LiveApi): FindAccount {
  const accounts = api.current.byGroupKind('', 'ServiceAccount');
  return (place, freshly, call) => {
    if (!accounts) return undefined;
    try {
      const found = freshly ? get(accounts, place, undefined, call) : getAnyVersion(accounts, place, call);
      return found instanceof Promise ? found.then(toFoundAccount, ignoreAbsent) : toFoundAccount(found);
    } catch (error) {
      return ignoreAbsent(error);
    }
  };
}

function ignoreAbsent(error: unknown): undefined {
  if (error instanceof StatusError && absentReasons.includes(error.reason)) return undefined;
  throw error;
}

/** The account does not exist, or its name is invalid. */
const absentReasons: readonly StatusError['reason'][] = ['NotFound', 'BadRequest'];

/** Decoding the object would cost more than the rest of the lookup, and only an account under deletion requires it. */
function toFoundAccount(account: Awaited<ReturnType<typeof getAnyVersion>>): FoundAccount | undefined {
  if (!account) return undefined;
  const uid = uidOf(account.json);
  if (!account.json.includes(',"deletionTimestamp":"')) return { uid, deletedAtMs: undefined };
  const { deletionTimestamp } = account.object.metadata;
  return { uid, deletedAtMs: deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp) };
}
