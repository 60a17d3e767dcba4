/**
 * Serves the kinds that CustomResourceDefinitions define, on every replica, leader or not: a kind is served while its names are
 * accepted or it is established. Each definition is compiled in steps, and again when its kind has changed.
 */
import { createHash } from 'node:crypto';
import {
  asError,
  awaitWithin,
  type Call,
  type Clock,
  type Random,
  runTask,
  type SyncTask,
} from '@cluster-apiserver/base';
import { customKind } from '@cluster-apiserver/custom-resources';
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import { jsonTexts } from '@cluster-apiserver/model/json';
import type { BatchConversion, Kind } from '@cluster-apiserver/model/kind';
import type { CachedObject, Resource, ServedApi, StoredObject } from '@cluster-apiserver/registry';
import { itemKey, type Revision, revision, textOfItemKey } from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import { followAll, itemsWithin } from '../memory.ts';
import { RetryQueue } from '../retry-queue.ts';
import { decodeDefinition, readDefinition } from './kind-of-definition.ts';

export interface ServeDefinitionsOptions {
  readonly api: ServedApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Calls the webhook of a definition; undefined if it has none. */
  readonly conversionOf: (definition: CustomResourceDefinition) => BatchConversion | undefined;
  /** Called when the kinds of all definitions up to a revision are served, as far as one of them waits for that. */
  readonly caughtUp: (revision: Revision) => void;
}

/** How many kinds are loaded at a time. */
const workers = 16;
const pauses = { firstMs: 50, maxMs: 5_000 };

interface Served {
  readonly kind: Kind;
  /** A hash of what the kind was made of. */
  readonly source: string;
  readonly uid: string;
  /** The latest state of the definition, of which the kind's documents are made. */
  readonly latest: { item: StoredObject };
}

export class ServedDefinitions {
  readonly #options: ServeDefinitionsOptions;
  readonly #definitions: Resource;
  readonly #queue: RetryQueue<string>;
  readonly #unfollow: () => void;
  readonly #served = new Map<string, Served>();
  /** Definitions whose last change has not been worked on. */
  readonly #pending = new Set<string>();
  /** Why definitions are not served that are tried again and again. */
  readonly #failures = new Map<string, string>();
  /** Called after each definition that was worked on. */
  readonly #waiters = new Set<() => void>();
  /** One of them waits for all replicas. */
  #isAwaited = false;
  #seen = revision(0);
  #hasCaughtUp = false;
  #isClosed = false;
  /** All of them have to be read: at the start, and after changes were missed. */
  #isReadDue = true;

  constructor(definitions: Resource, options: ServeDefinitionsOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    this.#definitions = definitions;
    this.#queue = new RetryQueue({
      clock,
      random,
      workers,
      pauses,
      work: (key) => this.#serve(key),
      failed: (key, { cause }) => this.#noteFailure(key, asError(cause)),
      measures: { queued: () => {}, added: () => {}, began: () => () => {} },
    });
    this.#unfollow = followAll([definitions], {
      changed: (_, { key, current, revision: changedAt }) => {
        // At once: the definition of a kind that came back under its name may follow.
        if (this.#served.has(key) && !this.#isSame(key, current)) this.#remove(key);
        this.#seen = changedAt;
        this.#add(key);
      },
      // In a turn of its own, after all collections have taken over the loaded objects: after a restore they cannot be read before.
      interrupted: () => {
        this.#isReadDue = true;
        clock.soon(() => this.#readIfDue());
      },
      failed: (error) =>
        log.error(
          // Meaning: This replica learns of no new, changed or deleted CustomResourceDefinition. Other replicas serve
          // them.
          'following the definitions failed',
          'restart this replica, and report the error as a bug: it serves the definitions that it knew',
          { error: asError(error) },
        ),
    });
    this.#readIfDue();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#unfollow();
    await this.#queue.close();
  }

  /** Whether all kinds were served that had been defined when this replica started. */
  get hasCaughtUp(): boolean {
    return this.#hasCaughtUp;
  }

  /** Waits until everything that was stored of a definition before is served. */
  async catchUp(name: string, call: Call): Promise<void> {
    const key = itemKey(name);
    await this.#definitions.collection.waitUntilFresh(undefined, call);
    this.#readIfDue();
    while (this.#pending.has(key)) {
      const worked = Promise.withResolvers<void>();
      this.#waiters.add(worked.resolve);
      await awaitWithin(this.#options.clock, call, worked.promise).finally(() => this.#waiters.delete(worked.resolve));
    }
  }

  #readIfDue(): void {
    const { collection } = this.#definitions;
    if (!this.#isReadDue || this.#isClosed || !collection.isReady) return;
    this.#isReadDue = false;
    this.#seen = collection.currentRevision;
    for (const key of this.#served.keys()) this.#add(key);
    for (const { key } of itemsWithin(collection.view(), '')) this.#add(key);
    this.#noteProgress();
  }

  #add(key: string): void {
    this.#pending.add(key);
    this.#queue.add(key);
  }

  /** A kind stays while its definition cannot be read. */
  #isSame(key: string, item: CachedObject | undefined): boolean {
    return item !== undefined && (item.unreadable !== undefined || item.uid === this.#served.get(key)?.uid);
  }

  #noteProgress(): void {
    if (this.#pending.size > 0) return;
    this.#hasCaughtUp = true;
    if (this.#isAwaited) this.#options.caughtUp(this.#seen);
    this.#isAwaited = false;
  }

  /** Logged when it begins and when it changes: it is tried every few seconds. */
  #noteFailure(key: string, error: Error): void {
    if (this.#failures.get(key) === error.message) return;
    this.#failures.set(key, error.message);
    this.#options.log.warn(
      // Meaning: This replica cannot serve the definition, or not in its latest version. Requests for its objects get
      // 404, or are served as before.
      'serving a custom resource failed; retrying',
      'read the error; the conditions of the CustomResourceDefinition state whether its schema is accepted',
      { definition: textOfItemKey(key), error },
    );
  }

  #noteSuccess(key: string): void {
    if (!this.#failures.delete(key)) return;
    this.#options.log.info('serving a custom resource no longer fails', { definition: textOfItemKey(key) });
  }

  #remove(key: string): void {
    const served = this.#served.get(key);
    this.#served.delete(key);
    if (served) this.#options.api.remove(served.kind);
  }

  async #serve(key: string): Promise<void> {
    const item = this.#definitions.collection.get(key);
    if (!item?.unreadable) await this.#serveDefinition(key, item);
    // A change that came meanwhile is in the queue.
    if (this.#definitions.collection.get(key) !== item) return;
    this.#noteSuccess(key);
    this.#pending.delete(key);
    for (const resolve of this.#waiters) resolve();
    this.#noteProgress();
  }

  async #serveDefinition(key: string, item: StoredObject | undefined): Promise<void> {
    const { api, clock, conversionOf } = this.#options;
    const definition = item && (await readDefinition(clock, item));
    if (this.#definitions.collection.get(key) !== item) return;
    const served = this.#served.get(key);
    if (!definition || !isAccepted(definition)) return this.#remove(key);
    if (!hasCondition(definition, 'Established')) this.#isAwaited = true;
    // Also while finalizers of others hold it, after its objects have gone: new ones would stay behind.
    const isTerminating =
      definition.metadata.deletionTimestamp !== undefined || hasCondition(definition, 'Terminating');
    const source = await runTask(clock, undefined, sourceOf(definition, isTerminating));
    if (this.#definitions.collection.get(key) !== item) return;
    if (served?.source === source) {
      served.latest.item = item;
      return;
    }
    const latest = { item };
    const readAgain = (): SyncTask<CustomResourceDefinition> => decodeDefinition(latest.item);
    const options = { isTerminating, conversion: conversionOf(definition), readAgain };
    const kind = await runTask(clock, undefined, customKind(definition, options), true);
    if (this.#definitions.collection.get(key) !== item) return;
    this.#served.set(key, { kind, source, uid: item.uid, latest });
    try {
      await (served ? api.replace(kind) : api.add(kind));
    } catch (error) {
      // Removed before it was loaded.
      if (this.#served.get(key)?.kind === kind) throw error;
    }
  }
}

/** Identifies what the kind is made of. */
function* sourceOf({ spec, status }: CustomResourceDefinition, isTerminating: boolean): SyncTask<string> {
  const sum = createHash('sha256');
  for (const text of jsonTexts([spec, status.acceptedNames, isTerminating])) {
    sum.update(text);
    yield;
  }
  return sum.digest('base64');
}

/** Whether clients see the kind. */
const isAccepted = (definition: CustomResourceDefinition): boolean =>
  hasCondition(definition, 'NamesAccepted') || hasCondition(definition, 'Established');

const hasCondition = ({ status }: CustomResourceDefinition, type: string): boolean =>
  (status.conditions ?? []).some((one) => one.type === type && one.status === 'True');
