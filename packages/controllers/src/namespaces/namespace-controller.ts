/**
 * What becomes of a namespace that is deleted: everything in it is deleted, and when nothing is left it is finalized.
 *
 * From the write on that makes a namespace Terminating, nothing can be created in it: a creation is conditioned on the
 * state of its namespace. The watch cache delivers all kinds in the order of one revision, so as soon as memory holds
 * the Terminating namespace it holds everything that was ever created in it. Content therefore only becomes less, and
 * an empty namespace stays empty. Deletions carry the uid, so a later namespace of the same name is safe. Two leaders at
 * a time, or one that is cut off half-way, therefore do no harm.
 */
import type { Clock, Random } from '@cluster-apiserver/base';
import { contentFinalizer, type Namespace, namespace as namespaceKind } from '@cluster-apiserver/kinds';
import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import { type ItemChange, textOfKey } from '@cluster-apiserver/storage';
import type { ObjectIdentity } from '../change-object.ts';
import { followAndSync } from '../follow-and-sync.ts';
import type { ControllerMeasures } from '../measures.ts';
import { callsOf, hasItemWithin, itemsWithin, readable, readBarrier, unreadableCount } from '../memory.ts';
import { createPace } from '../pace.ts';
import { retryQueue } from '../retry-queue.ts';
import { type Content, deleteContent } from './content.ts';
import { finalize, writeConditions } from './writes.ts';

export interface NamespaceControllerOptions {
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  readonly random: Random;
  /** For as long as this replica leads. */
  readonly signal: AbortSignal;
  readonly report: (event: NamespaceControllerEvent) => void;
  readonly measures: ControllerMeasures;
}

export type NamespaceControllerEvent =
  | { readonly type: 'finalized'; readonly namespace: string }
  /** Something in it is held by finalizers, cannot be read, or could not be deleted. */
  | ({ readonly type: 'held'; readonly namespace: string } & Content)
  | { readonly type: 'failed'; readonly namespace: string; readonly tries: number; readonly cause: unknown }
  /** Nobody knows whether it is being deleted. */
  | { readonly type: 'unreadable'; readonly namespace: string; readonly cause: unknown };

/** Namespaces at a time; each deletes several objects at a time. */
const workers = 4;

/** After failures, which are nearly always those of the storage. */
const pauses = { firstMs: 50, maxMs: 5_000 };

/** What is left in a held namespace is counted again, for its conditions, at most this often. */
const recountMs = 5_000;

/** Reports per sync; a lost key makes every namespace unreadable, and the metric says how many. */
const unreadableReportsMax = 10;

/** Drains namespaces until the signal aborts, and resolves when no work is running any more. */
export async function drainNamespaces(options: NamespaceControllerOptions): Promise<void> {
  const { resources, clock, random, signal, report, measures } = options;
  const namespaces = resources.find(({ kind }) => kind === namespaceKind);
  if (!namespaces || signal.aborted) return;
  const inside = resources.filter(({ kind }) => kind.namespaced);
  const call = callsOf(clock, signal);
  const pace = createPace(clock, signal);

  /** The namespaces that memory holds as Terminating, each with its timer if it is to be counted again. */
  const terminating = new Map<string, { recount: (() => void) | undefined }>();

  const drain = async (key: string): Promise<void> => {
    await readBarrier(namespaces, call(), signal);
    const namespace = terminatingNamespace(readable(namespaces.collection.get(key)));
    if (!namespace) return;
    const content = await deleteContent({ resources: inside, namespace: namespace.name, pace, signal, call });
    if (content.remaining.size === 0 && content.failures.length === 0) {
      await finalize(namespaces, namespace, call());
      report({ type: 'finalized', namespace: namespace.name });
      return;
    }
    await writeConditions(namespaces, namespace, content, clock.now(), call());
    report({ type: 'held', namespace: namespace.name, ...content });
    if (content.isWorthRetry) throw new Error(`deleting the content failed: ${content.failures.join('; ')}`);
  };
  const queue = retryQueue<string>({
    clock,
    random,
    workers,
    pauses,
    work: drain,
    failed: (key, { tries, cause }) => {
      measures.retried();
      report({ type: 'failed', namespace: textOfKey(key), tries, cause });
    },
    measures,
  });

  let unreadableReports = 0;
  const noteNamespace = (key: string, item: CachedObject | undefined): void => {
    if (item?.unreadable && unreadableReports < unreadableReportsMax) {
      unreadableReports++;
      report({ type: 'unreadable', namespace: textOfKey(key), cause: item.unreadable });
    }
    if (terminatingNamespace(readable(item))) {
      if (terminating.has(key)) return;
      terminating.set(key, { recount: undefined });
      queue.add(key);
    } else {
      terminating.get(key)?.recount?.();
      terminating.delete(key);
    }
  };
  const noteContent = (key: string): void => {
    if (terminating.size === 0) return;
    const namespace = key.slice(0, key.indexOf('/'));
    const state = terminating.get(namespace);
    if (!state) return;
    if (!inside.some((resource) => hasItemWithin(resource, `${namespace}/`))) queue.add(namespace);
    else
      state.recount ??= clock.after(recountMs, () => {
        state.recount = undefined;
        queue.add(namespace);
      });
  };
  const changed = (resource: Resource, { key, previous, current }: ItemChange<CachedObject>): void => {
    if (resource === namespaces) {
      if (previous?.unreadable || current?.unreadable) measures.unreadable(unreadableCount([namespaces]));
      noteNamespace(key, current);
    } else if (resource.kind.namespaced) noteContent(key);
  };
  const sync = async (): Promise<void> => {
    unreadableReports = 0;
    measures.unreadable(unreadableCount([namespaces]));
    for (const key of terminating.keys()) {
      noteNamespace(key, namespaces.collection.get(key));
      queue.add(key);
      if (pace.isDue()) await pace.pause();
    }
    for (const { key } of itemsWithin(namespaces.collection.view(), '')) {
      noteNamespace(key, namespaces.collection.get(key));
      if (pace.isDue()) await pace.pause();
    }
  };
  try {
    await followAndSync({ resources, clock, signal, changed, sync });
  } finally {
    measures.unreadable(0);
    for (const { recount } of terminating.values()) recount?.();
    await queue.close();
  }
}

/** Undefined for one that stays, or that does not wait for us any more. */
function terminatingNamespace(item: StoredObject | undefined): ObjectIdentity | undefined {
  if (item?.lifecycle?.deletionTimestamp === undefined) return undefined;
  const { spec } = item.object as Namespace; // decoded by the schema of its kind
  return spec.finalizers?.includes(contentFinalizer) ? { name: item.name, uid: item.uid } : undefined;
}
