/**
 * What becomes of a namespace that is deleted: everything in it is deleted, and when nothing is left it is let go.
 *
 * From the moment that a namespace is on its way out, nothing can be created in it any more: a creation relies on the
 * state of its namespace, and the storage refuses it once that is another. So what is in a namespace only becomes less,
 * and a look that finds nothing stays true. Each look is as of the revision at which the namespace was seen to be on its
 * way out: so what it finds belongs to this namespace, and not to a later one of the same name. Two at a time, or one
 * that is cut off half-way, therefore do no harm.
 */
import { callUntil, type Clock, type Random } from '@cluster-apiserver/base';
import { contentFinalizer, namespace as namespaceKind } from '@cluster-apiserver/kinds';
import { byteString, decodeStored } from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
import type { Call, Stored } from '@cluster-apiserver/storage';
import { follow } from '../feed.ts';
import { retryQueue } from '../retry-queue.ts';
import { type Content, deleteContent } from './content.ts';
import { finalize, type LeavingNamespace, tellConditions } from './writes.ts';

export interface NamespaceControllerOptions {
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  readonly random: Random;
  /** For as long as this replica leads. */
  readonly signal: AbortSignal;
  readonly report: (event: NamespaceControllerEvent) => void;
}

export type NamespaceControllerEvent =
  | { readonly type: 'emptied'; readonly namespace: string }
  /** Something in it is held by finalizers, or could not be deleted. Looked at again after a pause. */
  | ({ readonly type: 'held'; readonly namespace: string; readonly tries: number } & Content)
  | { readonly type: 'failed'; readonly key: string; readonly tries: number; readonly cause: unknown }
  | { readonly type: 'feed lost'; readonly cause: unknown };

/** Namespaces at a time; each deletes several objects at a time. */
const workers = 4;

/** Whoever holds the content lets go without a word to us, so the longest pause is what a namespace stays too long. */
const pauses = { firstMs: 50, maxMs: 5_000 };

/** Less than an election leaves between the end of a term and the begin of the next one. */
const callTimeoutMs = 2_000;

/** Empties namespaces until the signal aborts, and ends when nothing is under way any more. */
export async function emptyNamespaces({
  resources,
  clock,
  random,
  signal,
  report,
}: NamespaceControllerOptions): Promise<void> {
  const namespaces = resources.find(({ kind }) => kind === namespaceKind);
  if (!namespaces || signal.aborted) return;
  const inside = resources.filter(({ kind }) => kind.namespaced);
  const call = (): Call => {
    signal.throwIfAborted();
    return callUntil(clock.monotonicMs() + callTimeoutMs);
  };

  const empty = async (key: string): Promise<void> => {
    const { stored, revision } = await namespaces.store.get(key, call());
    const leaving = stored && leavingNamespace(stored);
    if (!leaving) return;
    const content = await deleteContent(inside, { namespace: leaving.name, revision }, call);
    if (content.remaining.size > 0 || content.failures.length > 0) {
      await tellConditions(namespaces, leaving, content, clock.now(), call());
      throw new HeldError(leaving.name, content);
    }
    await finalize(namespaces, leaving, call());
    report({ type: 'emptied', namespace: leaving.name });
  };
  const queue = retryQueue({
    clock,
    random,
    workers,
    pauses,
    work: empty,
    failed: (key, { tries, cause }) =>
      report(
        cause instanceof HeldError
          ? { type: 'held', namespace: cause.namespace, tries, ...cause.content }
          : { type: 'failed', key, tries, cause },
      ),
  });
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(queue.close()), { once: true });
  });
  const followed = follow(
    namespaces,
    {
      present: (stored) => {
        if (leavingNamespace(stored)) queue.add(stored.key);
      },
      gone: () => {},
      complete: () => {},
      lost: (cause) => report({ type: 'feed lost', cause }),
    },
    { clock, random, signal, call },
  );
  await Promise.all([stopped, followed]);
}

/** Tried again like what failed, and told otherwise. */
class HeldError extends Error {
  override readonly name = 'HeldError';
  readonly namespace: string;
  readonly content: Content;
  constructor(namespace: string, content: Content) {
    super(`the namespace ${namespace} is not empty yet`);
    this.namespace = namespace;
    this.content = content;
  }
}

/** Undefined for one that stays, or that does not wait for us any more. */
function leavingNamespace({ value }: Stored): LeavingNamespace | undefined {
  const { metadata, spec } = decodeStored(byteString(value)) as ReturnType<typeof decodeStored> & {
    spec: { finalizers?: string[] };
  };
  if (metadata.deletionTimestamp === undefined || !spec.finalizers?.includes(contentFinalizer)) return undefined;
  // Every stored object has been given these.
  const { name, uid } = metadata as { name: string; uid: string };
  return { name, uid };
}
