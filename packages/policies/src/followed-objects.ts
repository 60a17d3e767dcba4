/**
 * Compiles policies and webhooks from the watch cache. Changes are compiled in the background, in steps; unchanged objects
 * are kept. A write waits for pending compilations and for objects that this replica has acknowledged, so a policy is active
 * on the replica that stored it as soon as its writer has the response.
 */
import { type Call, type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { type KubeObject, StatusError } from '@cluster-apiserver/model';
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { textOfItemKey } from '@cluster-apiserver/storage';

export interface FollowOptions<Compiled> {
  /** Name of the objects in responses. */
  readonly description: string;
  /** In the order in which they are compiled. All are in one watch cache. */
  readonly kinds: readonly [CompiledObjects<unknown>, ...CompiledObjects<unknown>[]];
  /** Combines the compiled objects of all kinds. */
  readonly combine: () => Compiled;
  readonly clock: Clock;
  /** Called for an internal error; compilation is retried. */
  readonly compileFailed: (error: unknown) => void;
}

export interface FollowedObjects<Compiled> {
  /** Returns undefined, or resolves, when `current` is up to date for a write. Throws while a stored object is unreadable. */
  waitUntilCurrent(call: Call): Promise<void> | undefined;
  readonly current: Compiled;
  close(): void;
}

/** Only an internal error makes compilation fail, and it may repeat. */
const retryDelayMs = 1_000;

export function followObjects<Compiled>({
  description,
  kinds,
  combine,
  clock,
  compileFailed,
}: FollowOptions<Compiled>): FollowedObjects<Compiled> {
  const [{ collection: anyOfThem }] = kinds;
  const collections = kinds.map(({ collection }) => collection);
  let current = combine();
  let unreadable: string | undefined;
  /** Number of received changes, and of those that are compiled. */
  let [changes, compiledChanges] = [0, 0];
  let round: Promise<void> | undefined;
  let cancelRetry: (() => void) | undefined;
  let isClosed = false;

  function* compileAll(): SyncTask<void> {
    const upTo = changes;
    for (const kind of kinds) yield* kind.refresh();
    current = combine();
    unreadable = kinds.find((kind) => kind.unreadable !== undefined)?.unreadable;
    compiledChanges = upTo;
  }
  const startRound = (): void => {
    cancelRetry?.();
    round = runTask(clock, undefined, compileAll(), true);
    round.then(
      () => {
        round = undefined;
        if (compiledChanges < changes && !isClosed) startRound();
      },
      (error: unknown) => {
        round = undefined;
        compileFailed(error);
        if (!isClosed) cancelRetry = clock.after(retryDelayMs, startRound);
      },
    );
  };
  const changed = (): void => {
    changes++;
    if (!round && !isClosed) startRound();
  };
  const stops = collections.map((collection) => collection.subscribe({ onChange: changed, onReset: changed }));
  changed();

  const requireReadable = (): void => {
    if (unreadable === undefined) return;
    throw new StatusError(
      'ServiceUnavailable',
      `no writes are admitted while a stored ${description} cannot be read; make it readable or delete it: ${unreadable}`,
      { retryAfterSeconds: 1 },
    );
  };
  const waitForChanges = async (call: Call): Promise<void> => {
    await anyOfThem.waitUntilFresh('any', call);
    const upTo = changes;
    while (compiledChanges < upTo && !isClosed) {
      if (!round) startRound();
      await round;
    }
    requireReadable();
  };
  return {
    waitUntilCurrent: (call) => {
      if (compiledChanges < changes) return waitForChanges(call);
      for (const collection of collections) if (!collection.hasLocalWrites) return waitForChanges(call);
      requireReadable();
      return undefined;
    },
    get current() {
      return current;
    },
    close: () => {
      isClosed = true;
      cancelRetry?.();
      for (const stop of stops) stop();
    },
  };
}

interface Version<Compiled> {
  readonly item: CachedObject;
  readonly compiled: Compiled;
}

/** Objects of one kind, compiled. Each version of an object is compiled once. */
export class CompiledObjects<Compiled> {
  readonly #resource: Resource;
  readonly #compile: (object: KubeObject) => SyncTask<Compiled>;
  #byKey = new Map<string, Version<Compiled>>();
  /** In the order of their names. */
  current: readonly Compiled[] = [];
  /** A stored object that this replica has never been able to read, if there is one. */
  unreadable: string | undefined;

  constructor(resource: Resource, compile: (object: KubeObject) => SyncTask<Compiled>) {
    this.#resource = resource;
    this.#compile = compile;
  }

  get collection(): Resource['collection'] {
    return this.#resource.collection;
  }

  *refresh(): SyncTask<void> {
    const items: CachedObject[] = [];
    this.collection.view().items.visit('', (item) => items.push(item) > 0);
    const next = new Map<string, Version<Compiled>>();
    let unreadable: string | undefined;
    for (const item of items) {
      const known = this.#byKey.get(item.key);
      // The last readable version stays active: an unreadable object must not disable a policy.
      if (known && (known.item === item || item.unreadable)) next.set(item.key, known);
      else if (item.unreadable) unreadable ??= `${this.#resource.kind.plural}/${textOfItemKey(item.key)}`;
      else next.set(item.key, { item, compiled: yield* this.#compile(item.object) });
      yield;
    }
    this.#byKey = next;
    this.unreadable = unreadable;
    this.current = [...next.values()].map(({ compiled }) => compiled);
  }
}
