/**
 * Deletes the content of Terminating namespaces, and finalizes a namespace when it is empty.
 *
 * From the write on that makes a namespace Terminating, nothing can be created in it: a creation is conditioned on the
 * state of its namespace. The watch cache delivers the kinds of one etcd in the order of one revision, so as soon as memory
 * holds the Terminating namespace it holds everything that was ever created in it; in another etcd the namespace is ended
 * first. Content therefore only becomes less, and an empty namespace stays empty. Deletions carry the uid, so a later namespace of the same name is safe. Two leaders at
 * a time, or one that loses its connection, therefore do no harm.
 */
import { asError } from '@cluster-apiserver/base';
import { contentFinalizer, namespaceKind } from '@cluster-apiserver/kinds';
import { type CachedObject, hasItemWithin, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { type ItemChange, textOfItemKey } from '@cluster-apiserver/storage';
import type { ObjectIdentity } from '../change-object.ts';
import { endElsewhere, readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerContext, type ControllerOptions, type Reconciler, runController } from '../run-controller.ts';
import { deleteContent } from './content.ts';
import { finalize, writeConditions } from './writes.ts';

/** Namespaces at a time; each deletes several objects at a time. */
const workers = 4;

/** The remaining content of a held namespace is counted again, for its conditions, at most this often. */
const recountMs = 5_000;

/** Reports per sync; a lost key makes every namespace unreadable, and the metric says how many. */
const unreadableReportsMax = 10;

/** Drains namespaces until the signal aborts, and resolves when no work is running any more. */
export async function drainNamespaces(options: ControllerOptions): Promise<void> {
  const { api, signal } = options;
  const namespaces = api.ofVersion(namespaceKind);
  if (!namespaces || signal.aborted) return;
  const terminating: TerminatingNamespaces = new Map();
  try {
    await runController(options, {
      workers,
      reconciled: namespaces,
      followsKind: ({ namespaced }) => namespaced,
      start: (context) => new NamespaceDrainer(options, namespaces, terminating, context),
    });
  } finally {
    for (const { cancelRecount } of terminating.values()) cancelRecount?.();
  }
}

/** The namespaces that memory holds as Terminating, by their keys, each with its timer if it is to be counted again. */
type TerminatingNamespaces = Map<string, { cancelRecount: (() => void) | undefined }>;

class NamespaceDrainer implements Reconciler {
  readonly #options: ControllerOptions;
  readonly #namespaces: Resource;
  readonly #terminating: TerminatingNamespaces;
  readonly #context: ControllerContext;
  #unreadableReports = 0;

  constructor(
    options: ControllerOptions,
    namespaces: Resource,
    terminating: TerminatingNamespaces,
    context: ControllerContext,
  ) {
    this.#options = options;
    this.#namespaces = namespaces;
    this.#terminating = terminating;
    this.#context = context;
  }

  /** The resources whose objects are in namespaces, of what is served now. */
  get #namespaced(): readonly Resource[] {
    return this.#options.api.stored.filter(({ kind }) => kind.namespaced);
  }

  async reconcile(key: string): Promise<void> {
    const { api, clock, signal, log } = this.#options;
    const { call, pace } = this.#context;
    await readBarrier([this.#namespaces], call(), signal);
    const found = terminatingNamespace(readable(this.#namespaces.collection.get(key)));
    if (!found) return;
    const namespace = found.name;
    const { stored } = api;
    const resources = stored.filter(({ kind }) => kind.namespaced);
    const end = (held: readonly Resource[]): Promise<void> => endElsewhere(held, found, call(), signal);
    const content = await deleteContent({ resources, namespace, pace, signal, call, home: this.#namespaces, end });
    if (content.remaining.size === 0 && content.failures.length === 0) {
      // Objects of a kind that is still being loaded, or has come meanwhile, may be in it. It is enqueued when kinds change.
      if (api.isLoading || api.stored !== stored) return;
      await finalize(this.#namespaces, found, call());
      log.debug(2, 'namespace finalized', { namespace });
      return;
    }
    await writeConditions(this.#namespaces, found, content, clock.now(), call());
    const failures = content.failures.join('; ');
    if (content.unreadable > 0)
      log.warn(
        // Meaning: A namespace is being deleted, and some of its objects cannot be decrypted. Deleting them would lose
        // what they are.
        'namespace contains unreadable objects; it stays Terminating until they are repaired or deleted',
        'configure the key that encrypted them, or delete their keys from etcd: docs/troubleshooting.md',
        {
          namespace,
          failures,
        },
      );
    else
      log.debug(2, 'namespace is not empty yet', {
        namespace,
        remaining: content.remaining.values().reduce((sum, count) => sum + count, 0),
        failures,
      });
    if (content.isWorthRetry) throw new Error(`deleting the content failed: ${failures}`);
  }

  changed(resource: Resource, { key, current }: ItemChange<CachedObject>): void {
    if (resource === this.#namespaces) this.#noteNamespace(key, current);
    else if (resource.kind.namespaced) this.#noteContent(key);
  }

  async sync(): Promise<void> {
    const { enqueue, forEachKey, pace } = this.#context;
    const { collection } = this.#namespaces;
    this.#unreadableReports = 0;
    await pace.forEach(this.#terminating.keys(), (key) => {
      this.#noteNamespace(key, collection.get(key));
      enqueue(key);
    });
    await forEachKey((key) => this.#noteNamespace(key, collection.get(key)));
  }

  /** They may hold objects of a kind that came, and may have waited for one that did not. */
  kindsChanged(): void {
    for (const key of this.#terminating.keys()) this.#context.enqueue(key);
  }

  #noteNamespace(key: string, item: CachedObject | undefined): void {
    if (item?.unreadable && this.#unreadableReports < unreadableReportsMax) {
      this.#unreadableReports++;
      this.#options.log.warn(
        // Meaning: The namespace cannot be decrypted, so it is unknown whether it is being deleted.
        'stored namespace unreadable; it is not drained until it is repaired',
        'configure the key that encrypted it: docs/encryption.md',
        {
          namespace: textOfItemKey(key),
          error: asError(item.unreadable),
        },
      );
    }
    if (terminatingNamespace(readable(item))) {
      if (this.#terminating.has(key)) return;
      this.#terminating.set(key, { cancelRecount: undefined });
      this.#context.enqueue(key);
    } else {
      this.#terminating.get(key)?.cancelRecount?.();
      this.#terminating.delete(key);
    }
  }

  /** An object of a namespace has changed. Without objects the namespace is finalized; else they are counted again later. */
  #noteContent(key: string): void {
    if (this.#terminating.size === 0) return;
    const namespace = key.slice(0, key.indexOf('/'));
    const state = this.#terminating.get(namespace);
    if (!state) return;
    const { enqueue } = this.#context;
    if (!this.#namespaced.some((resource) => hasItemWithin(resource, `${namespace}/`))) enqueue(namespace);
    else
      state.cancelRecount ??= this.#options.clock.after(recountMs, () => {
        state.cancelRecount = undefined;
        enqueue(namespace);
      });
  }
}

/** Undefined for a namespace that is not Terminating, or that no longer has the finalizer of this controller. */
function terminatingNamespace(item: StoredObject | undefined): ObjectIdentity | undefined {
  if (item?.lifecycle?.deletionTimestamp === undefined) return undefined;
  const { spec } = requireKind(item.object, 'Namespace');
  return spec.finalizers?.includes(contentFinalizer) ? { name: item.name, uid: item.uid } : undefined;
}
