import { contentOf } from './content.ts';
import type { Delivered } from './streams.ts';
import { type ApiObject, isVisible, type View } from './view.ts';

/** A change in etcd's log. */
export interface LogEntry {
  readonly revision: number;
  /** `resource/namespace/name` */
  readonly key: string;
  /** The stored object; undefined for a deletion. */
  readonly object: ApiObject | undefined;
}

/**
 * The events that a view of the log must deliver: objects that enter the view are added, objects that leave it are
 * deleted.
 */
export interface VisibleEvents {
  readonly events: readonly Delivered[];
  /** The index in `events` of the first event after a revision. */
  after(revision: number): number;
  /** The visible objects at a revision: contents by key. */
  stateAt(revision: number): ReadonlyMap<string, string>;
}

export function selectVisibleEvents(log: readonly LogEntry[], view: View): VisibleEvents {
  const events: Delivered[] = [];
  const current = new Map<string, ApiObject | undefined>();
  const { prefix } = view.resource;
  for (const { revision, key: name, object } of log) {
    if (!name.startsWith(prefix)) continue;
    const key = name.slice(prefix.length);
    const previous = current.get(key);
    current.set(key, object);
    const before = previous && isVisible(view, previous) ? previous : undefined;
    const now = object && isVisible(view, object) ? object : undefined;
    if (now) {
      const type = before ? 'MODIFIED' : 'ADDED';
      events.push({ type, key, revision, content: contentOf(now, revision), initialEnds: 0 });
    } else if (before) {
      // The last visible state, with the revision of the removal, so that a watch can resume there.
      events.push({ type: 'DELETED', key, revision, content: contentOf(before, revision), initialEnds: 0 });
    }
  }
  const byKey = Map.groupBy(events, ({ key }) => key);
  return {
    events,
    after: (revision) => firstAfter(events, revision),
    stateAt: (revision) => {
      const state = new Map<string, string>();
      for (const [key, own] of byKey) {
        const last = own[firstAfter(own, revision) - 1];
        if (last && last.type !== 'DELETED') state.set(key, last.content);
      }
      return state;
    },
  };
}

function firstAfter(events: readonly Delivered[], revision: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((events[middle] as Delivered).revision > revision) high = middle;
    else low = middle + 1;
  }
  return low;
}
