import { forbidden, invalid, StatusError } from '@cluster-apiserver/model';
import { type Call, type Change, type Revision, RevisionCompactedError, type Stored } from '@cluster-apiserver/storage';
import { isSelected, type Selection } from './list.ts';
import { Outcome } from './outcome.ts';
import { collectionPrefix, type Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { answerFor, answering } from './storage-answers.ts';

export interface WatchOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly continue: string | undefined;
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly outcome: Outcome;
}

/**
 * The whole meaning of "watch", for every kind. Without a resourceVersion the present state comes first, as objects
 * added. What is thrown after the start has to be told inside the stream.
 */
export async function watch(
  resource: Resource,
  options: WatchOptions,
  call: Call,
  signal: AbortSignal,
): Promise<AsyncIterable<WatchEvent>> {
  if (options.continue) {
    throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [
      forbidden('continue', 'continue is forbidden for watch'),
    ]);
  }
  const from = parseResourceVersion(options.resourceVersion);
  const prefix = collectionPrefix(resource, options.namespace);
  if (typeof from === 'number') return changesAfter(resource, prefix, from, options, signal);
  const snapshot = await answering(() => resource.store.list({ prefix }, call));
  return (async function* present() {
    for (const stored of snapshot.stored) {
      const event = seenThrough(
        resource,
        options,
        { key: stored.key, previous: undefined, current: stored },
        snapshot.revision,
      );
      if (event) yield event;
    }
    yield* changesAfter(resource, prefix, snapshot.revision, options, signal);
  })();
}

async function* changesAfter(
  resource: Resource,
  prefix: string,
  after: Revision,
  selection: Selection,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  try {
    for await (const { changes, revision } of resource.store.watch(prefix, after, signal)) {
      for (const change of changes) {
        const event = seenThrough(resource, selection, change, revision);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (error instanceof RevisionCompactedError)
      throw new StatusError('Expired', `too old resource version: ${after}`, undefined, { cause: error });
    throw answerFor(error);
  }
}

/** A selector is a window: what comes into view is added, what leaves it is deleted, whatever happened to the object. */
function seenThrough(
  { kind }: Resource,
  selection: Selection,
  { previous, current }: Change,
  revision: Revision,
): WatchEvent | undefined {
  const before = previous && inView(previous);
  const now = current && inView(current);
  if (now) return { type: before ? 'MODIFIED' : 'ADDED', outcome: now };
  if (!before || !previous) return undefined;
  // The last state the client knew, at the revision of the write that took it away, so a resumed watch continues after it.
  return { type: 'DELETED', outcome: Outcome.ofStored({ ...previous, revision }) };

  function inView(stored: Stored): Outcome | undefined {
    const outcome = Outcome.ofStored(stored);
    return isSelected(kind, selection, () => outcome.object) ? outcome : undefined;
  }
}
