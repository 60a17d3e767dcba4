/**
 * Compiles policies and webhooks from the watch cache. Changes are compiled in the background, in steps; unchanged objects
 * are kept. A write waits for pending compilations and for objects that this replica has acknowledged, so a policy is active
 * on the replica that stored it as soon as its writer has the response.
 */
import { type Call, type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { StorageUnavailableError, textOfItemKey } from '@cluster-apiserver/storage';

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

/** Compilation fails while the objects cannot be read, or because of an internal error, which may repeat. */
const retryDelayMs = 1_000;

export class FollowedObjects<Compiled> {
  readonly #options: FollowOptions<Compiled>;
  readonly #collections: readonly Resource['collection'][];
  readonly #stops: readonly (() => void)[];
  #current: Compiled;
  #unreadable: string | undefined;
  /** Number of received changes, and of those that are compiled. */
  #changes = 0;
  #compiledChanges = 0;
  #round: Promise<void> | undefined;
  #isFailing = false;
  #cancelRetry: (() => void) | undefined;
  #isClosed = false;

  constructor(options: FollowOptions<Compiled>) {
    this.#options = options;
    this.#collections = options.kinds.map(({ collection }) => collection);
    this.#current = options.combine();
    const noteChange = (): void => this.#noteChange();
    this.#stops = this.#collections.map((collection) =>
      collection.subscribe({ onChange: noteChange, onReset: noteChange }),
    );
    noteChange();
  }

  get current(): Compiled {
    return this.#current;
  }

  /** Returns undefined, or resolves, when `current` is up to date for a write. Throws while a stored object is unreadable. */
  waitUntilCurrent(call: Call): Promise<void> | undefined {
    if (this.#compiledChanges < this.#changes) return this.#waitForChanges(call);
    for (const collection of this.#collections) if (!collection.hasLocalWrites) return this.#waitForChanges(call);
    this.#requireReadable();
    return undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    for (const stop of this.#stops) stop();
  }

  #noteChange(): void {
    this.#changes++;
    if (!this.#round && !this.#isClosed) this.#startRound();
  }

  #startRound(): void {
    const { clock, compileFailed } = this.#options;
    this.#cancelRetry?.();
    this.#round = runTask(clock, undefined, this.#compileAll(), true);
    this.#round.then(
      () => {
        this.#round = undefined;
        this.#isFailing = false;
        if (this.#compiledChanges < this.#changes && !this.#isClosed) this.#startRound();
      },
      (error: unknown) => {
        this.#round = undefined;
        // Once: it is tried again every moment, for example until the watch cache is rebuilt.
        if (!this.#isFailing && !(error instanceof StorageUnavailableError)) compileFailed(error);
        this.#isFailing = true;
        if (!this.#isClosed) this.#cancelRetry = clock.after(retryDelayMs, () => this.#startRound());
      },
    );
  }

  *#compileAll(): SyncTask<void> {
    const { kinds, combine } = this.#options;
    const upTo = this.#changes;
    for (const kind of kinds) yield* kind.refresh();
    this.#current = combine();
    this.#unreadable = kinds.find((kind) => kind.unreadable !== undefined)?.unreadable;
    this.#compiledChanges = upTo;
  }

  async #waitForChanges(call: Call): Promise<void> {
    // Each waits for the local writes to its own collection only.
    for (const collection of this.#collections) await collection.waitUntilFresh('any', call);
    const upTo = this.#changes;
    while (this.#compiledChanges < upTo && !this.#isClosed) {
      if (!this.#round) this.#startRound();
      await this.#round;
    }
    this.#requireReadable();
  }

  #requireReadable(): void {
    if (this.#unreadable === undefined) return;
    throw new StatusError(
      'ServiceUnavailable',
      `no writes are admitted while a stored ${this.#options.description} cannot be read; make it readable or delete it: ${this.#unreadable}`,
      { retryAfterSeconds: 1 },
    );
  }
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
