import { type Compaction, mayBeCompacted } from '../fault/history.ts';
import { checkChanges } from './check-changes.ts';
import { type LogEntry, type VisibleEvents, selectVisibleEvents } from './visible-events.ts';
import { type Delivered, initialEndNames, type Listing, type Segment, type Stream } from './streams.ts';
import type { View } from './view.ts';

export interface GroundTruth {
  /** All changes. */
  readonly log: readonly LogEntry[];
  /** No delivered revision may be newer. */
  readonly headRevision: number;
  readonly compactions: readonly Compaction[];
}

/** Returns all violations of the watch streams. The last segment of each stream must have received all events. */
export function checkStreams(streams: readonly Stream[], truth: GroundTruth): string[] {
  const byView = new Map<View, VisibleEvents>();
  return streams.flatMap(({ watcher, view, lists, segments }) => {
    let visible = byView.get(view);
    if (!visible) byView.set(view, (visible = selectVisibleEvents(truth.log, view)));
    const faults = [...lists.flatMap((list) => listFaults(list, visible))];
    for (const [at, segment] of segments.entries()) {
      const { violations, revision, caughtUp } = checkSegment(segment, visible, truth);
      if (at === segments.length - 1 && !caughtUp)
        violations.push(`never came: ${visible.events.length - visible.after(revision)} events after ${revision}`);
      faults.push(
        ...truncateList(violations).map((violation) => `segment ${at} (${describeOpening(segment)}): ${violation}`),
      );
    }
    return faults.map((fault) => `${watcher}: ${fault}`);
  });
}

/** Whether the watch has received all events that came after its beginning. */
export function hasReceivedAll(segment: Segment, visible: VisibleEvents, truth: GroundTruth): boolean {
  return checkSegment(segment, visible, truth).caughtUp;
}

const describeOpening = ({ opening, events }: Segment): string =>
  `from ${opening.from}${'revision' in opening ? ` ${opening.revision}` : ''}, ${events.length} events`;

/** One defect often causes all later violations of a segment. */
const shownMax = 5;
const truncateList = (violations: readonly string[]): readonly string[] =>
  violations.length <= shownMax
    ? violations
    : [...violations.slice(0, shownMax), `and ${violations.length - shownMax} more`];

interface Verdict {
  readonly violations: string[];
  /** Last delivered revision. */
  readonly revision: number;
  readonly caughtUp: boolean;
}

function checkSegment(segment: Segment, visible: VisibleEvents, truth: GroundTruth): Verdict {
  const verdict = checkEvents(segment, visible, truth);
  const { ending } = segment;
  if (ending.how === 'invalid') verdict.violations.push(`invalid response:  ${ending.what}`);
  // etcd serves changes after a revision as long as that revision is not compacted, because events include the previous
  // value.
  if (ending.how === 'expired' && !mayBeCompacted(truth.compactions, verdict.revision, ending.atMs))
    verdict.violations.push(
      `expired before its time: at ${verdict.revision}, ${describeCompactions(truth, ending.atMs)}: ${ending.what ?? 'status 410'}`,
    );
  return verdict;
}

function describeCompactions({ compactions }: GroundTruth, atMs: number): string {
  const last = compactions.findLast(({ requestedMs }) => requestedMs <= atMs);
  const next = compactions.find(({ requestedMs }) => requestedMs > atMs);
  const within = next ? `, and ${next.revision} ${(next.requestedMs - atMs).toFixed(1)} ms later` : '';
  return `compacted up to ${last?.revision ?? 'nothing'}${within}`;
}

function checkEvents(segment: Segment, visible: VisibleEvents, truth: GroundTruth): Verdict {
  const { opening, events } = segment;
  const rules = { visible, bookmarks: segment.bookmarks, headRevision: truth.headRevision };
  switch (opening.from) {
    case 'a revision':
      return checkChanges(events, opening.revision, rules);
    case 'the present':
      return checkAfterPresent(opening.notBefore, events, visible, (rest, revision) =>
        checkChanges(rest, revision, rules),
      );
    case 'initial events':
      return checkAfterInitialEvents(opening.notBefore, events, visible, (rest, revision) =>
        checkChanges(rest, revision, rules),
      );
  }
}

function listFaults(list: Listing, visible: VisibleEvents): string[] {
  if ('invalid' in list) return [`invalid response to a list:  ${list.invalid}`];
  const { notBefore, revision, items } = list;
  const faults: string[] = [];
  if (revision < notBefore) faults.push(`a list of ${revision} was returned although ${notBefore} existed`);
  if (!isSame(items, visible.stateAt(revision))) faults.push(`a list of ${revision} is not what there was`);
  return faults;
}

type Rest = (events: readonly Delivered[], revision: number) => Verdict;

/**
 * The server does not send the revision of the initial state: any revision is accepted whose state equals the first
 * events.
 */
function checkAfterPresent(
  notBefore: number,
  events: readonly Delivered[],
  visible: VisibleEvents,
  rest: Rest,
): Verdict {
  let nearest: Verdict | undefined;
  let broken: Verdict | undefined;
  const since = visible.after(notBefore);
  for (const revision of [notBefore, ...visible.events.slice(since).map((event) => event.revision)]) {
    const size = initialSize(events, visible.stateAt(revision));
    if (size === undefined) continue;
    if (size > events.length) {
      // The connection broke before this state was complete, unless the events are a smaller state of a later revision.
      broken ??= { violations: [], revision, caughtUp: false };
      continue;
    }
    const verdict = rest(events.slice(size), revision);
    if (verdict.violations.length === 0) return verdict;
    if (size > 0) nearest ??= verdict; // an empty state matches any events
  }
  if (broken) return broken;
  const past = visible.events
    .slice(0, since)
    .findLast(({ revision }) => initialSize(events, visible.stateAt(revision)) !== undefined);
  const what = past ? `the present was that of ${past.revision}` : `the present never was, ${summarize(events)}`;
  return nearest ?? { violations: [`${what}, after ${notBefore}`], revision: notBefore, caughtUp: false };
}

const summarize = (events: readonly Delivered[]): string =>
  events
    .slice(0, 15)
    .map(({ type, key, revision }) => `${type} ${key} at ${revision}`)
    .join(', ');

/** The size of the state if the first events are that state or a part of it. */
function initialSize(events: readonly Delivered[], state: ReadonlyMap<string, string>): number | undefined {
  const added = events.slice(0, state.size);
  return isPartOf(added, state) ? state.size : undefined;
}

function isPartOf(added: readonly Delivered[], state: ReadonlyMap<string, string>): boolean {
  const keys = new Set(added.map(({ key }) => key));
  return (
    keys.size === added.length &&
    added.every(({ type, key, content }) => type === 'ADDED' && state.get(key) === content)
  );
}

/** The events before the bookmark must add up to the state at its revision. */
function checkAfterInitialEvents(
  notBefore: number,
  events: readonly Delivered[],
  visible: VisibleEvents,
  rest: Rest,
): Verdict {
  const end = events.findIndex(({ type }) => type === 'BOOKMARK');
  const initial = end < 0 ? events : events.slice(0, end);
  const violations: string[] = [];
  const state = new Map<string, string>();
  for (const { type, key, content } of initial) {
    if (type === (state.has(key) ? 'ADDED' : 'MODIFIED') || (type === 'DELETED' && !state.has(key)))
      violations.push(`${type} ${key} among the initial events, where it was ${state.has(key) ? '' : 'not '}there`);
    if (type === 'DELETED') state.delete(key);
    else state.set(key, content);
  }
  const bookmark = events[end];
  if (!bookmark) {
    const known = new Set(visible.events.map((event) => event.content));
    const unknown = initial.filter(({ content }) => !known.has(content));
    violations.push(...unknown.map(({ key, revision }) => `never was: ${key} at ${revision}`));
    return { violations, revision: notBefore, caughtUp: false };
  }
  const { revision, initialEnds } = bookmark;
  if (initialEnds !== initialEndNames.length) violations.push(`the end of the initial events has ${initialEnds} names`);
  if (revision < notBefore)
    violations.push(`initial events of ${revision} were returned although ${notBefore} existed`);
  if (!isSame(state, visible.stateAt(revision)))
    violations.push(`the initial events are not what there was at ${revision}`);
  const after = rest(events.slice(end + 1), revision);
  return { ...after, violations: [...violations, ...after.violations] };
}

const isSame = (some: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): boolean =>
  some.size === others.size && [...some].every(([key, content]) => others.get(key) === content);
