import { contentOf } from './content.ts';
import type { Delivered } from './streams.ts';
import { type ApiObject, isVisible, type View } from './view.ts';

/** A change in etcd's own log. */
export interface LogEntry {
  readonly revision: number;
  /** `namespace/name` */
  readonly key: string;
  /** As it is stored; undefined when it was removed. */
  readonly object: ApiObject | undefined;
}

/** What of the log is to be seen through a view, and how: whatever comes into it is added, whatever leaves it is deleted. */
export interface VisibleEvents {
  readonly events: readonly Delivered[];
  /** The place in `events` of the first one after a revision. */
  after(revision: number): number;
  /** What was in view at a revision: contents by key. */
  stateAt(revision: number): ReadonlyMap<string, string>;
}

export function selectVisibleEvents(log: readonly LogEntry[], view: View): VisibleEvents {
  const events: Delivered[] = [];
  const current = new Map<string, ApiObject | undefined>();
  for (const { revision, key, object } of log) {
    const previous = current.get(key);
    current.set(key, object);
    const before = previous && isVisible(view, previous) ? previous : undefined;
    const now = object && isVisible(view, object) ? object : undefined;
    if (now) {
      const type = before ? 'MODIFIED' : 'ADDED';
      events.push({ type, key, revision, content: contentOf(now, revision), initialEnds: 0 });
    } else if (before) {
      // As it was last seen, at the revision that took it away: whoever resumes there has missed nothing.
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
