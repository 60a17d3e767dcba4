/**
 * Deletes the objects of CustomResourceDefinitions that are being deleted, and releases a definition when none of its objects
 * is left. One whose objects are held by finalizers occupies no worker: it is looked at again when they are gone.
 *
 * From the write on that deletes a definition, no objects of it are created: a creation is conditioned on the state of its
 * definition. The watch cache delivers the kinds of one etcd in the order of one revision, so memory holds all objects as soon
 * as it holds the deletion, and objects only become fewer. If another etcd holds the objects, the definition is ended there
 * first.
 */
import { errorMessage } from '@cluster-apiserver/base';
import {
  cleanupFinalizer,
  type CustomResourceDefinition,
  type Finding,
  findCondition,
  withCondition,
} from '@cluster-apiserver/kinds';
import { formatTime } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  type ApiChange,
  type CachedObject,
  hasItemWithin,
  type Resource,
  type StoredObject,
} from '@cluster-apiserver/registry';
import { itemKey, type ItemChange } from '@cluster-apiserver/storage';
import { changeObject } from '../change-object.ts';
import { deleteItems } from '../delete-items.ts';
import { endElsewhere, heldElsewhere, itemsWithin, readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerContext, type ControllerOptions, type Reconciler, runController } from '../run-controller.ts';
import { wasServed } from './definition-status.ts';
import { definitionsIn, readDefinition } from './kind-of-definition.ts';

const manager = 'kube-apiserver';

/** Definitions at a time; of each, several objects are deleted at a time. */
const workers = 4;

/** Cleans up definitions until the signal aborts, and resolves when no work is running any more. */
export async function cleanUpDefinitions(options: ControllerOptions): Promise<void> {
  const definitions = definitionsIn(options.api);
  if (!definitions || options.signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: definitions,
    followsKind: ({ definition }) => definition !== undefined,
    start: (context) => new Cleaner(options, definitions, context),
  });
}

class Cleaner implements Reconciler {
  readonly #options: ControllerOptions;
  readonly #definitions: Resource;
  readonly #context: ControllerContext;
  /** The definitions whose objects go, by their keys, each with its kind as it was looked at last. */
  readonly #terminating = new Map<string, Resource | undefined>();

  constructor(options: ControllerOptions, definitions: Resource, context: ControllerContext) {
    this.#options = options;
    this.#definitions = definitions;
    this.#context = context;
  }

  async reconcile(key: string): Promise<void> {
    const { api, signal, log } = this.#options;
    const { call, pace } = this.#context;
    await readBarrier([this.#definitions], call(), signal);
    const item = terminatingItem(this.#definitions.collection.get(key));
    if (!item) return;
    const resource = api.byDefinition(item.name);
    this.#terminating.set(key, resource);
    if (!resource?.collection.isReady) {
      // When the kind comes, it is looked at again. Until then its condition says what it waits for.
      if (wasServed(await readDefinition(this.#options.clock, item))) {
        if (!resource) await this.#note(item, notServed);
        return;
      }
      await this.#release(item, {
        ...terminated,
        reason: 'NeverEstablished',
        message: 'resource was never established',
      });
      return;
    }
    const elsewhere = heldElsewhere([resource], this.#definitions);
    try {
      await endElsewhere(elsewhere, item, call(), signal);
    } catch (error) {
      await this.#note(item, failed(error));
      throw error;
    }
    if (hasItemWithin(resource, '')) {
      await this.#note(item, inProgress);
      const items = itemsWithin(resource.collection.view(), '');
      const { held, unreadable, failures } = await deleteItems(resource, items, { pace, signal, call });
      if (failures.length > 0) {
        await this.#note(item, failed(failures[0]));
        throw failures[0];
      }
      if (unreadable > 0)
        log.warn(
          // Meaning: A CustomResourceDefinition is being deleted, and some of its objects cannot be decrypted. Deleting
          // them would lose what they are.
          'definition has unreadable objects; it stays until they are repaired or deleted',
          'configure the key that encrypted them, or delete their keys from etcd: docs/troubleshooting.md',
          {
            definition: item.name,
            unreadable,
          },
        );
      if (held + unreadable > 0) return;
    }
    await this.#release(item, completed);
    log.debug(2, 'the objects of a CustomResourceDefinition are gone', { definition: item.name });
  }

  changed(resource: Resource, { key, current }: ItemChange<CachedObject>): void {
    if (resource === this.#definitions) this.#noteDefinition(key, current);
    else if (!current && this.#terminating.size > 0) this.#noteObject(resource);
  }

  async sync(): Promise<void> {
    const { collection } = this.#definitions;
    for (const key of this.#terminating.keys()) this.#noteDefinition(key, collection.get(key));
    await this.#context.forEachKey((key) => this.#noteDefinition(key, collection.get(key)));
  }

  kindsChanged({ came }: ApiChange): void {
    for (const resource of came) {
      const key = keyOfDefinition(resource);
      if (this.#terminating.has(key) && this.#terminating.get(key) !== resource) this.#context.enqueue(key);
    }
  }

  #noteDefinition(key: string, item: CachedObject | undefined): void {
    if (terminatingItem(item)) {
      this.#terminating.set(key, this.#terminating.get(key));
      this.#context.enqueue(key);
    } else this.#terminating.delete(key);
  }

  #noteObject(resource: Resource): void {
    const key = keyOfDefinition(resource);
    if (this.#terminating.has(key) && !hasItemWithin(resource, '')) this.#context.enqueue(key);
  }

  /** Shows how far the deletion is. */
  #note(item: StoredObject, finding: Finding): Promise<void> {
    return this.#change(item, (definition) => this.#withFinding(definition, finding));
  }

  /** The definition goes, unless it has finalizers of others. */
  #release(item: StoredObject, finding: Finding): Promise<void> {
    return this.#change(item, ({ metadata, ...definition }) => ({
      ...this.#withFinding({ metadata, ...definition }, finding),
      metadata: { ...metadata, finalizers: (metadata.finalizers ?? []).filter((one) => one !== cleanupFinalizer) },
    }));
  }

  #withFinding(definition: CustomResourceDefinition, finding: Finding): CustomResourceDefinition {
    const { status } = definition;
    const before = findCondition(status.conditions, finding.type);
    if (before?.reason === finding.reason && before.message === finding.message) return definition;
    const conditions = withCondition(status.conditions, {
      ...finding,
      lastTransitionTime: formatTime(this.#options.clock.now()),
    });
    return { ...definition, status: { ...status, conditions } };
  }

  #change(item: StoredObject, change: (definition: CustomResourceDefinition) => object): Promise<void> {
    const changeDefinition = (current: KubeObject): object => change(requireKind(current, 'CustomResourceDefinition'));
    return changeObject(
      this.#definitions,
      item,
      { manager, subresource: 'status', change: changeDefinition },
      this.#context.call(),
    );
  }
}

const keyOfDefinition = ({ kind }: Resource): string => itemKey(kind.definition ?? '');

/** Undefined for a definition that stays, or whose objects are gone. */
function terminatingItem(item: CachedObject | undefined): StoredObject | undefined {
  const stored = readable(item);
  const { deletionTimestamp, finalizers = [] } = stored?.lifecycle ?? {};
  return deletionTimestamp !== undefined && finalizers.includes(cleanupFinalizer) ? stored : undefined;
}

const inProgress: Finding = {
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
};

const notServed: Finding = {
  ...inProgress,
  reason: 'InstanceDeletionFailed',
  message: 'could not issue all deletes: the kind is not served; see the log of the server',
};

const failed = (cause: unknown): Finding => ({
  type: 'Terminating',
  status: 'True',
  reason: 'InstanceDeletionFailed',
  message: `could not issue all deletes: ${errorMessage(cause)}`,
});

const terminated = { type: 'Terminating', status: 'False' } as const;
const completed: Finding = {
  ...terminated,
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
};
