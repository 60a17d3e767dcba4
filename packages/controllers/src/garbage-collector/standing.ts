import { StatusError } from '@cluster-apiserver/model';
import { get } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import type { Graph } from './graph.ts';
import { leavingOf, type Owner } from './member.ts';

/** What an owner means for its dependent. */
export type Standing = 'living' | 'gone' | 'takes along' | 'leaves behind';

/** Says how an owner stands. That it lives may be old news, as nothing is lost by that; all else has just been read. */
export type StandingReader = (owner: Owner, namespace: string | undefined) => Promise<Standing>;

/** Thousands of dependents may have one owner; nobody with a uid that is gone will come back. */
const goneOwnersMax = 1_000;

export function standingReader(graph: Graph, call: () => Call): StandingReader {
  const gone = new Set<string>();
  const remember = (uid: string): void => {
    if (gone.size === goneOwnersMax) gone.delete(gone.values().next().value as string);
    gone.add(uid);
  };
  return async (owner, namespace) => {
    const known = graph.get(owner);
    if (known && (known.leaving === undefined || known.leaving === 'held by others')) return 'living';
    const id = `${owner.key}/${owner.uid}`;
    if (gone.has(id)) return 'gone';
    const standing = await liveStanding(owner, namespace, call());
    if (standing === 'gone') remember(id);
    return standing;
  };
}

async function liveStanding(
  { resource, name, uid }: Owner,
  namespace: string | undefined,
  call: Call,
): Promise<Standing> {
  try {
    const { object } = await get(resource, { namespace, name }, undefined, call);
    if (object.metadata.uid !== uid) return 'gone';
    const leaving = leavingOf(object);
    return leaving === 'foreground' ? 'takes along' : leaving === 'orphan' ? 'leaves behind' : 'living';
  } catch (error) {
    // Nothing can have a name that is refused.
    if (error instanceof StatusError && (error.reason === 'NotFound' || error.reason === 'BadRequest')) return 'gone';
    throw error;
  }
}
