import type { VisibleEvents } from './visible-events.ts';
import type { Delivered } from './streams.ts';

export interface ChangeRules {
  readonly visible: VisibleEvents;
  /** Whether the watch requested bookmarks. */
  readonly bookmarks: boolean;
  readonly headRevision: number;
}

/** Compares delivered with expected events in parallel. */
export function checkChanges(
  events: readonly Delivered[],
  after: number,
  { visible, bookmarks, headRevision }: ChangeRules,
): { violations: string[]; revision: number; caughtUp: boolean } {
  const expected = visible.events;
  const first = visible.after(after);
  const violations: string[] = [];
  const skipped = new Set<number>();
  let next = first;
  let revision = after;
  for (const event of events) {
    if (event.type === 'BOOKMARK') {
      const ahead = expected[next];
      if (!bookmarks) violations.push(`bookmark not requested: ${nameOf(event)}`);
      if (event.initialEnds > 0) violations.push(`unexpected end of initial events: ${nameOf(event)}`);
      if (event.revision < revision) violations.push(`older than ${revision}: ${nameOf(event)}`);
      if (ahead && ahead.revision <= event.revision) violations.push(`ahead of ${nameOf(ahead)}: ${nameOf(event)}`);
      if (event.revision > headRevision) violations.push(`future revision: ${nameOf(event)}`);
      revision = Math.max(revision, event.revision);
      continue;
    }
    let at = next;
    if (!isOf(expected[at], event)) at = findExpectedEvent(event, visible);
    const match = expected[at];
    if (!match) violations.push(`no such visible change: ${nameOf(event)}`);
    else if (at < first) violations.push(`from before ${after}: ${nameOf(event)}`);
    else if (skipped.has(at)) violations.push(`reordered: ${nameOf(event)} after ${revision}`);
    else if (at < next) violations.push(`duplicated: ${nameOf(event)} after ${revision}`);
    else {
      for (; next < at; next += 1) {
        violations.push(`missed: ${nameOf(expected[next] as Delivered)}, received ${event.revision} instead`);
        skipped.add(next);
      }
      next = at + 1;
    }
    if (match && match.type !== event.type) violations.push(`wrong type: ${nameOf(event)} is ${match.type}`);
    if (match && match.content !== event.content) violations.push(`wrong content: ${nameOf(event)}`);
    revision = Math.max(revision, event.revision);
  }
  return { violations, revision, caughtUp: next === expected.length };
}

const isOf = (one: Delivered | undefined, { revision, key }: Delivered): boolean =>
  one?.revision === revision && one.key === key;

/** The index of the expected event; one revision may contain several keys. */
function findExpectedEvent(event: Delivered, { events, after }: VisibleEvents): number {
  const end = after(event.revision);
  for (let at = after(event.revision - 1); at < end; at += 1) if (isOf(events[at], event)) return at;
  return -1;
}

const nameOf = ({ type, key, revision }: Delivered): string => `${type} ${key} at ${revision}`;
