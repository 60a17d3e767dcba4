import { conflict, encodeStored, type KubeObject } from '@cluster-apiserver/model';
import {
  type Call,
  KeyExistsError,
  type Revision,
  RevisionMismatchError,
  type Stored,
} from '@cluster-apiserver/storage';
import { Outcome } from './outcome.ts';
import { objectKey, type Resource } from './resource.ts';

/** What shall become of an object: written as it now is, or removed. */
export type Decision =
  | { readonly write: KubeObject; readonly remove?: never }
  | { readonly remove: KubeObject; readonly write?: never };

export interface Written {
  /** What is stored now, or what was removed, at the revision of the write. */
  readonly outcome: Outcome;
  /** When what was there before had been written; undefined when nothing was there. */
  readonly over: Revision | undefined;
  readonly created: boolean;
  readonly removed: boolean;
}

/** Against another writer who always comes first. Each try costs one round trip, so this is far beyond bad luck. */
const triesMax = 100;

/**
 * Reads, decides and writes under the condition that nobody wrote in between; decides again on what is there when
 * somebody did. `decide` must not keep anything from one call to the next.
 */
export async function writeOver(
  resource: Resource,
  place: { readonly namespace: string; readonly name: string },
  options: { readonly dryRun: boolean },
  call: Call,
  decide: (current: Outcome | undefined) => Decision | Promise<Decision>,
): Promise<Written> {
  const { store, kind } = resource;
  const key = objectKey(resource, place.namespace, place.name);
  let stored = (await store.get(key, call)).stored;
  for (let tries = 0; tries < triesMax; tries++) {
    const current = stored && Outcome.ofStored(stored);
    const decision = await decide(current);
    try {
      return decision.write ? await write(decision.write, stored) : await remove(decision.remove, stored);
    } catch (error) {
      if (!(error instanceof KeyExistsError || error instanceof RevisionMismatchError)) throw error;
      stored = error.current;
    }
  }
  throw conflict(kind, place.name, `other writers came first ${triesMax} times; please try again`);

  async function write(object: KubeObject, over: Stored | undefined): Promise<Written> {
    const bytes = encodeStored(object);
    const done = (revision: Outcome['revision']): Written => ({
      outcome: new Outcome(bytes, revision, object),
      over: over?.revision,
      created: over === undefined,
      removed: false,
    });
    // Writing what is there already would wake every watcher for nothing.
    if (options.dryRun || (over && !over.stale && over.value.equals(bytes))) return done(over?.revision);
    const lifetime = { timeToLiveSeconds: kind.timeToLiveSeconds };
    return done(
      over
        ? await store.update(key, bytes, over.revision, lifetime, call)
        : await store.create(key, bytes, lifetime, call),
    );
  }

  async function remove(last: KubeObject, over: Stored | undefined): Promise<Written> {
    const revision = over && !options.dryRun ? await store.delete(key, over.revision, call) : over?.revision;
    return { outcome: Outcome.ofObject(last, revision), over: over?.revision, created: false, removed: true };
  }
}
