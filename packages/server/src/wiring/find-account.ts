import type { FindAccount, FoundAccount } from '@cluster-apiserver/gates';
import { StatusError, uidOf } from '@cluster-apiserver/model';
import { get, getAnyVersion, type Resource } from '@cluster-apiserver/registry';

/** Looks for service accounts where they are served from. There are none when they are not served. */
export function findAccountIn(resources: readonly Resource[]): FindAccount {
  const accounts = resources.find(({ kind }) => kind.group === '' && kind.kind === 'ServiceAccount');
  return (place, freshly, call) => {
    if (!accounts) return undefined;
    try {
      const found = freshly ? get(accounts, place, undefined, call) : getAnyVersion(accounts, place, call);
      return found instanceof Promise ? found.then(foundIn, orNone) : foundIn(found);
    } catch (error) {
      return orNone(error);
    }
  };
}

function orNone(error: unknown): undefined {
  if (error instanceof StatusError && absent.includes(error.reason)) return undefined;
  throw error;
}

/** There is none of this name, or there can be none. */
const absent: readonly StatusError['reason'][] = ['NotFound', 'BadRequest'];

/** Taking an object apart costs more than the rest of the question, and hardly any is on its way out. */
function foundIn(account: Awaited<ReturnType<typeof getAnyVersion>>): FoundAccount | undefined {
  if (!account) return undefined;
  const uid = uidOf(account.json);
  if (!account.json.includes(',"deletionTimestamp":"')) return { uid, deletedAtMs: undefined };
  const { deletionTimestamp } = account.object.metadata;
  return { uid, deletedAtMs: deletionTimestamp === undefined ? undefined : Date.parse(deletionTimestamp) };
}
