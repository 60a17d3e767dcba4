/**
 * Serves the kinds that CustomResourceDefinitions define, on every replica, leader or not: a kind is served while its names are
 * accepted or it is established. Each definition is compiled in steps, and again when its kind has changed.
 */
import { asError, type Clock, type Random, runTask } from '@cluster-apiserver/base';
import { customKind } from '@cluster-apiserver/custom-resources';
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { Resource, ServedApi, StoredObject } from '@cluster-apiserver/registry';
import { textOfItemKey } from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import { followAll, itemsWithin, readable } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { RetryQueue } from '../retry-queue.ts';

export interface ServeDefinitionsOptions {
  readonly api: ServedApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** How many kinds are loaded at a time. */
const workers = 16;
const pauses = { firstMs: 50, maxMs: 5_000 };

interface Served {
  readonly kind: Kind;
  /** What the kind was made of. */
  readonly source: string;
  readonly uid: string;
}

export class ServedDefinitions {
  readonly #options: ServeDefinitionsOptions;
  readonly #definitions: Resource;
  readonly #queue: RetryQueue<string>;
  readonly #unfollow: () => void;
  readonly #served = new Map<string, Served>();

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
      failed: (key, { tries, cause }) =>
        log.warn('serving a custom resource failed; retrying', {
          definition: textOfItemKey(key),
          tries,
          error: asError(cause),
        }),
      measures: { queued: () => {}, added: () => {}, began: () => () => {} },
    });
    this.#unfollow = followAll([definitions], {
      changed: (_, { key, current }) => {
        // At once: the definition of a kind that came back under its name may follow.
        if (this.#served.has(key) && !this.#isSame(key, readable(current))) this.#remove(key);
        this.#queue.add(key);
      },
      interrupted: () => this.#enqueueAll(),
      failed: (error) => log.error('following the definitions failed', { error: asError(error) }),
    });
    this.#enqueueAll();
  }

  async close(): Promise<void> {
    this.#unfollow();
    await this.#queue.close();
  }

  #enqueueAll(): void {
    for (const key of this.#served.keys()) this.#queue.add(key);
    const { collection } = this.#definitions;
    if (collection.isReady) for (const { key } of itemsWithin(collection.view(), '')) this.#queue.add(key);
  }

  #isSame(key: string, item: StoredObject | undefined): boolean {
    return item !== undefined && item.uid === this.#served.get(key)?.uid;
  }

  #remove(key: string): void {
    const served = this.#served.get(key);
    this.#served.delete(key);
    if (served) this.#options.api.remove(served.kind);
  }

  async #serve(key: string): Promise<void> {
    const { api, clock } = this.#options;
    const item = readable(this.#definitions.collection.get(key));
    const definition = item && requireKind(item.object, 'CustomResourceDefinition');
    const served = this.#served.get(key);
    if (!definition || !isAccepted(definition)) return this.#remove(key);
    const isTerminating = hasCondition(definition, 'Terminating');
    const source = JSON.stringify([definition.spec, definition.status.acceptedNames, isTerminating]);
    if (served?.source === source) return;
    const kind = await runTask(clock, undefined, customKind(definition, isTerminating), true);
    // A change that came meanwhile is in the queue.
    if (this.#definitions.collection.get(key) !== item) return;
    this.#served.set(key, { kind, source, uid: item.uid });
    try {
      await (served ? api.replace(kind) : api.add(kind));
    } catch (error) {
      // Removed before it was loaded.
      if (this.#served.get(key)?.kind === kind) throw error;
    }
  }
}

/** Whether clients see the kind. */
const isAccepted = (definition: CustomResourceDefinition): boolean =>
  hasCondition(definition, 'NamesAccepted') || hasCondition(definition, 'Established');

const hasCondition = ({ status }: CustomResourceDefinition, type: string): boolean =>
  (status.conditions ?? []).some((one) => one.type === type && one.status === 'True');
