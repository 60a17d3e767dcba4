/**
 * Deletes the content of Terminating namespaces, and finalizes a namespace when it is empty.
 *
 * From the write on that makes a namespace Terminating, nothing can be created in it: a creation is conditioned on the
 * state of its namespace. The watch cache delivers all kinds in the order of one revision, so as soon as memory holds
 * the Terminating namespace it holds everything that was ever created in it. Content therefore only becomes less, and
 * an empty namespace stays empty. Deletions carry the uid, so a later namespace of the same name is safe. Two leaders at
 * a time, or one that loses its connection, therefore do no harm.
 */
import { contentFinalizer, namespaceKind } from '@cluster-apiserver/kinds';
import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import { textOfItemKey } from '@cluster-apiserver/storage';
import type { ObjectIdentity } from '../change-object.ts';
import { hasItemWithin, readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerContext, type ControllerOptions, type Reconciler, runController } from '../run-controller.ts';
import { type Content, deleteContent } from './content.ts';
import { finalize, writeConditions } from './writes.ts';

export type NamespaceControllerOptions = ControllerOptions<NamespaceControllerEvent>;

export type NamespaceControllerEvent =
  | { readonly type: 'finalized'; readonly namespace: string }
  /** Something in it is held by finalizers, cannot be read, or could not be deleted. */
  | ({ readonly type: 'held'; readonly namespace: string } & Content)
  | { readonly type: 'failed'; readonly namespace: string; readonly tries: number; readonly cause: unknown }
  /** It is not known whether the namespace is being deleted. */
  | { readonly type: 'unreadable'; readonly namespace: string; readonly cause: unknown };

/** Namespaces at a time; each deletes several objects at a time. */
const workers = 4;

/** The remaining content of a held namespace is counted again, for its conditions, at most this often. */
const recountMs = 5_000;

/** Reports per sync; a lost key makes every namespace unreadable, and the metric says how many. */
const unreadableReportsMax = 10;

/** Drains namespaces until the signal aborts, and resolves when no work is running any more. */
export async function drainNamespaces(options: NamespaceControllerOptions): Promise<void> {
  const { resources, signal, report } = options;
  const namespaces = resources.find(({ kind }) => kind === namespaceKind);
  if (!namespaces || signal.aborted) return;
  const terminating: TerminatingNamespaces = new Map();
  try {
    await runController(options, {
      workers,
      reconciled: namespaces,
      followed: resources,
      failed: (namespace, failure) => report({ type: 'failed', namespace, ...failure }),
      start: (context) => drainer(options, namespaces, terminating, context),
    });
  } finally {
    for (const { cancelRecount } of terminating.values()) cancelRecount?.();
  }
}

/** The namespaces that memory holds as Terminating, by their keys, each with its timer if it is to be counted again. */
type TerminatingNamespaces = Map<string, { cancelRecount: (() => void) | undefined }>;

function drainer(
  { resources, clock, signal, report }: NamespaceControllerOptions,
  namespaces: Resource,
  terminating: TerminatingNamespaces,
  { enqueue, forEachKey, call, pace }: ControllerContext,
): Reconciler {
  const namespaced = resources.filter(({ kind }) => kind.namespaced);
  let unreadableReports = 0;

  const noteNamespace = (key: string, item: CachedObject | undefined): void => {
    if (item?.unreadable && unreadableReports < unreadableReportsMax) {
      unreadableReports++;
      report({ type: 'unreadable', namespace: textOfItemKey(key), cause: item.unreadable });
    }
    if (terminatingNamespace(readable(item))) {
      if (terminating.has(key)) return;
      terminating.set(key, { cancelRecount: undefined });
      enqueue(key);
    } else {
      terminating.get(key)?.cancelRecount?.();
      terminating.delete(key);
    }
  };
  const noteContent = (key: string): void => {
    if (terminating.size === 0) return;
    const namespace = key.slice(0, key.indexOf('/'));
    const state = terminating.get(namespace);
    if (!state) return;
    if (!namespaced.some((resource) => hasItemWithin(resource, `${namespace}/`))) enqueue(namespace);
    else
      state.cancelRecount ??= clock.after(recountMs, () => {
        state.cancelRecount = undefined;
        enqueue(namespace);
      });
  };
  return {
    reconcile: async (key) => {
      await readBarrier(namespaces, call(), signal);
      const namespace = terminatingNamespace(readable(namespaces.collection.get(key)));
      if (!namespace) return;
      const content = await deleteContent({ resources: namespaced, namespace: namespace.name, pace, signal, call });
      if (content.remaining.size === 0 && content.failures.length === 0) {
        await finalize(namespaces, namespace, call());
        report({ type: 'finalized', namespace: namespace.name });
        return;
      }
      await writeConditions(namespaces, namespace, content, clock.now(), call());
      report({ type: 'held', namespace: namespace.name, ...content });
      if (content.isWorthRetry) throw new Error(`deleting the content failed: ${content.failures.join('; ')}`);
    },
    changed: (resource, { key, current }) => {
      if (resource === namespaces) noteNamespace(key, current);
      else if (resource.kind.namespaced) noteContent(key);
    },
    sync: async () => {
      unreadableReports = 0;
      for (const key of terminating.keys()) {
        noteNamespace(key, namespaces.collection.get(key));
        enqueue(key);
        if (pace.isDue()) await pace.pause();
      }
      await forEachKey((key) => noteNamespace(key, namespaces.collection.get(key)));
    },
  };
}

/** Undefined for a namespace that is not Terminating, or that no longer has the finalizer of this controller. */
function terminatingNamespace(item: StoredObject | undefined): ObjectIdentity | undefined {
  if (item?.lifecycle?.deletionTimestamp === undefined) return undefined;
  const { spec } = requireKind(item.object, 'Namespace');
  return spec.finalizers?.includes(contentFinalizer) ? { name: item.name, uid: item.uid } : undefined;
}
