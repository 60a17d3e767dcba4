import { expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import { serviceAccounts } from '../fault/judged-resources.ts';
import { checkStreams, type GroundTruth } from './check-streams.ts';
import { type LogEntry, type VisibleEvents, selectVisibleEvents } from './visible-events.ts';
import { contentOf } from './content.ts';
import type { Delivered, Ending, Opening, Segment, Stream } from './streams.ts';
import type { ApiObject, View } from './view.ts';

// Tests the checker: a simulation produces correct streams, and each test injects one defect that a broken server could
// cause.

interface SimulatedStream {
  readonly truth: GroundTruth;
  readonly stream: Stream;
}

const seeds = Array.from({ length: 20 }, (_, seed) => seed);
const everything: View = { resource: { ...serviceAccounts, prefix: '' } };
const views: readonly View[] = [
  everything,
  { ...everything, namespace: 'a' },
  { ...everything, matches: ({ metadata }) => metadata.labels?.['colour'] === 'red' },
  { ...everything, namespace: 'b', matches: ({ metadata }) => metadata.labels?.['colour'] !== 'red' },
  { ...everything, matches: ({ metadata }) => metadata.name === 'one' },
];

test.each(seeds)('a correct stream has no violations (seed %i)', (seed) => {
  for (const view of views) {
    const { truth, stream } = simulateStream(seed, view);
    expect(checkStreams([stream], truth)).toEqual([]);
  }
});

test('the present of a watch may be the deletion of an object that was there when it was requested', () => {
  const object = (name: string): ApiObject => ({ metadata: { namespace: 'a', name } });
  const [kept, gone] = [object('kept'), object('gone')];
  const log: LogEntry[] = [
    { revision: 1, key: 'a/kept', object: kept },
    { revision: 2, key: 'a/gone', object: gone },
    { revision: 3, key: 'a/gone', object: undefined },
  ];
  const added: Delivered = {
    type: 'ADDED',
    key: 'a/kept',
    revision: 1,
    content: contentOf(kept, 1),
    initialEnds: 0,
  };
  const segment: Segment = {
    opening: { from: 'the present', notBefore: 2 },
    bookmarks: false,
    events: [added],
    ending: { how: 'left' },
  };
  const stream: Stream = { watcher: 'w', view: everything, lists: [], segments: [segment] };
  expect(checkStreams([stream], { log, headRevision: 3, compactions: [] })).toEqual([]);
  // Not if the deletion had not happened.
  expect(checkStreams([stream], { log: log.slice(0, 2), headRevision: 2, compactions: [] })).toEqual([
    expect.stringContaining('never came: 0 events after 2'),
  ]);
});

/** Injects a defect into a stream; returns undefined if the stream has no place for it. */
type Defect = (simulation: SimulatedStream, random: Random) => Stream | undefined;

const defects: Record<string, Defect> = {
  'an event was dropped': ({ stream }, random) =>
    changeEvents(stream, random, isChange, 2, (events, at) => events.toSpliced(at, 1)),
  'an event was duplicated immediately': ({ stream }, random) =>
    changeEvents(stream, random, isChange, 1, (events, at) => events.toSpliced(at, 0, events[at] as Delivered)),
  'an event was repeated later': ({ stream }, random) =>
    changeEvents(stream, random, isChange, 1, (events, at) => [...events, events[at] as Delivered]),
  'two events were reordered': ({ stream }, random) =>
    changeEvents(stream, random, isChange, 2, (events, at) =>
      events[at + 1]?.type === 'BOOKMARK'
        ? undefined
        : events.toSpliced(at, 2, events[at + 1] as Delivered, events[at] as Delivered),
    ),
  'an event had another type': ({ stream }, random) =>
    changeContent(stream, random, isChange, ({ type }) => ({ type: type === 'MODIFIED' ? 'ADDED' : 'MODIFIED' })),
  'a deletion was delivered as MODIFIED': ({ stream }, random) =>
    changeContent(
      stream,
      random,
      ({ type }) => type === 'DELETED',
      () => ({ type: 'MODIFIED' }),
    ),
  'an event had the content of another': ({ stream }, random) =>
    changeContent(stream, random, isChange, () => ({ content: 'of another' })),
  'a deletion had the revision of the last write': ({ stream, truth }, random) =>
    changeContent(
      stream,
      random,
      ({ type }) => type === 'DELETED',
      ({ key, revision }) => {
        const written = truth.log.findLast((entry) => entry.key === key && entry.revision < revision);
        return { revision: written?.revision ?? 0 };
      },
    ),
  'a deletion had the content of an earlier write': ({ stream, truth }, random) =>
    changeContent(
      stream,
      random,
      ({ type }) => type === 'DELETED',
      ({ key, revision }) => {
        const written = truth.log.findLast((entry) => entry.key === key && entry.revision < revision);
        return { content: contentOf(written?.object as ApiObject, written?.revision ?? 0) };
      },
    ),
  'an event had the key of another object': ({ stream }, random) =>
    changeContent(stream, random, isChange, ({ key }) => ({ key: `${key}-other` })),
  'an event had another revision': ({ stream }, random) =>
    changeEvents(stream, random, isChange, 0, (events, at) => {
      const event = events[at] as Delivered;
      return events.with(at, { ...event, revision: event.revision + 1_000 });
    }),
  'an event had no write': ({ stream }, random) =>
    changeEvents(stream, random, isChange, 0, (events, at) =>
      events.toSpliced(at, 0, { type: 'ADDED', key: 'a/ghost', revision: 7, content: 'of a ghost', initialEnds: 0 }),
    ),
  'a bookmark was ahead of the delivered events': ({ stream }, random) =>
    changeEvents(stream, random, isBookmark, 2, (events, at) =>
      isChange(events[at + 1] as Delivered)
        ? events.with(at, { ...(events[at] as Delivered), revision: (events[at + 1] as Delivered).revision })
        : undefined,
    ),
  'a bookmark went back': ({ stream }, random) =>
    changeEvents(stream, random, isBookmark, 1, (events, at) =>
      at > 0
        ? events.with(at, { ...(events[at] as Delivered), revision: (events[at - 1] as Delivered).revision - 1 })
        : undefined,
    ),
  'a bookmark had a future revision': ({ stream, truth }, random) =>
    changeContent(stream, random, isBookmark, () => ({ revision: truth.headRevision + 1 })),
  'a bookmark was sent but not requested': ({ stream }) => {
    const at = stream.segments.findIndex(
      ({ events, opening }) => opening.from === 'a revision' && events.some(isBookmark),
    );
    return withSegment(stream, at, (segment) => ({ ...segment, bookmarks: false }));
  },
  'events were lost at a resume': ({ stream }, random) =>
    withSegment(
      stream,
      pick(random, stream.segments, ({ events }) => events.filter(isChange).length > 3),
      (segment) => ({
        ...segment,
        events: segment.events.slice(segment.events.findIndex(isChange) + 1),
      }),
    ),
  'events were repeated at a resume': ({ stream }, random) => {
    const at = pick(
      random,
      stream.segments,
      (segment, at) => resumes(segment) && (stream.segments[at - 1]?.events ?? []).some(isChange),
    );
    const again = stream.segments[at - 1]?.events.findLast(isChange) as Delivered;
    return withSegment(stream, at, (segment) => ({ ...segment, events: [again, ...segment.events] }));
  },
  'a watch expired although its revision was available': ({ stream, truth }, random) => {
    const beforeMs = Math.min(...truth.compactions.map(({ requestedMs }) => requestedMs)) - 1;
    return withSegment(
      stream,
      pick(random, stream.segments, () => true),
      (segment) => ({
        ...segment,
        ending: { how: 'expired', atMs: beforeMs },
      }),
    );
  },
  'a watch expired at the compacted revision, which is still available': ({ stream, truth }) => {
    const kept = truth.compactions.at(-1)?.revision ?? 0;
    const nothing: Segment = {
      opening: { from: 'a revision', revision: kept },
      bookmarks: false,
      events: [],
      ending: { how: 'expired', atMs: Number.POSITIVE_INFINITY },
    };
    return { ...stream, segments: [nothing, ...stream.segments] };
  },
  'a watch got an invalid response': ({ stream }) =>
    withSegment(stream, 0, (segment) => ({ ...segment, ending: { how: 'invalid', what: '500' } })),
  'the last events were missing': ({ stream }) =>
    withSegment(stream, stream.segments.length - 1, (segment) =>
      segment.events.some(isChange)
        ? { ...segment, events: segment.events.slice(0, segment.events.findLastIndex(isChange)) }
        : undefined,
    ),
  'the initial state omitted an object': ({ stream }, random) =>
    changeInitialEvents(stream, random, 'the present', (events) => events.slice(1)),
  'the initial state contained an object twice': ({ stream }, random) =>
    changeInitialEvents(stream, random, 'the present', ([first, ...events]) => [
      first as Delivered,
      first as Delivered,
      ...events,
    ]),
  'the initial state was outdated': ({ stream, truth }, random) =>
    withSegment(stream, pick(random, stream.segments, isFrom('the present')), (segment) => ({
      ...segment,
      opening: { from: 'the present', notBefore: truth.headRevision },
    })),
  'the initial events omitted an object': ({ stream }, random) =>
    changeInitialEvents(stream, random, 'initial events', (events) => events.slice(1)),
  'the initial events contained an outdated object': ({ stream }, random) =>
    changeInitialEvents(stream, random, 'initial events', ([first, ...events]) => [
      { ...(first as Delivered), content: 'from before' },
      ...events,
    ]),
  'the initial events were outdated': ({ stream, truth }, random) =>
    withSegment(stream, pick(random, stream.segments, isFrom('initial events')), (segment) => ({
      ...segment,
      opening: { from: 'initial events', notBefore: truth.headRevision },
    })),
  'the end of the initial events had only one annotation': ({ stream }, random) =>
    changeContent(
      stream,
      random,
      ({ initialEnds }) => initialEnds > 0,
      () => ({ initialEnds: 1 }),
    ),
  'the initial events ended twice': ({ stream }, random) =>
    changeContent(
      stream,
      random,
      (event) => isBookmark(event) && event.initialEnds === 0,
      () => ({ initialEnds: 2 }),
    ),
  'a list omitted an object': ({ stream }) => {
    const [list] = stream.lists;
    return list && 'items' in list && list.items.size > 0
      ? { ...stream, lists: [{ ...list, items: new Map([...list.items].slice(1)) }] }
      : undefined;
  },
  'a list was outdated': ({ stream, truth }) => {
    const [list] = stream.lists;
    return list && 'items' in list ? { ...stream, lists: [{ ...list, notBefore: truth.headRevision }] } : undefined;
  },
};

test.each(Object.entries(defects))('finds that %s', (_, inject) => {
  let broken = 0;
  for (const seed of seeds) {
    for (const view of views) {
      const simulation = simulateStream(seed, view);
      const stream = inject(simulation, seededRandom(seed + 1));
      if (!stream) continue;
      broken += 1;
      expect({ seed, found: checkStreams([stream], simulation.truth).length > 0 }).toEqual({ seed, found: true });
    }
  }
  expect(broken).toBeGreaterThanOrEqual(seeds.length);
});

test('a watch that ends before its initial state is complete has no violation', () => {
  const { truth, stream } = simulateStream(1, everything);
  const whole = stream.segments.find(isFrom('initial events')) as Segment;
  const broken: Segment = { ...whole, events: whole.events.slice(0, 2), ending: { how: 'cut' } };
  expect(checkStreams([{ ...stream, segments: [broken, ...stream.segments] }], truth)).toEqual([]);
});

test('a watch expires once the state before its next event was compacted', () => {
  const { truth, stream } = simulateStream(1, everything);
  const [compaction] = truth.compactions;
  const expired: Segment = {
    opening: { from: 'a revision', revision: (compaction?.revision ?? 0) - 1 },
    bookmarks: false,
    events: [],
    ending: { how: 'expired', atMs: compaction?.requestedMs ?? 0 },
  };
  expect(checkStreams([{ ...stream, segments: [expired, ...stream.segments] }], truth)).toEqual([]);
});

const isChange = ({ type }: Delivered): boolean => type !== 'BOOKMARK';
const isBookmark = ({ type }: Delivered): boolean => type === 'BOOKMARK';
const isFrom =
  (from: Opening['from']) =>
  ({ opening }: Segment): boolean =>
    opening.from === from;

const resumes = ({ opening, events }: Segment): boolean =>
  opening.from === 'a revision' && events.filter(isChange).length > 1;

/** The index of a matching segment; -1 if there is none. */
function pick(random: Random, segments: readonly Segment[], fact: (segment: Segment, at: number) => boolean): number {
  const fitting = segments.flatMap((segment, at) => (fact(segment, at) ? [at] : []));
  return fitting[random.below(fitting.length)] ?? -1;
}

function withSegment(stream: Stream, at: number, lie: (segment: Segment) => Segment | undefined): Stream | undefined {
  const segment = stream.segments[at];
  const next = segment && lie(segment);
  return next && { ...stream, segments: stream.segments.with(at, next) };
}

/** Changes the events of a matching segment from one that is followed by at least so many. */
function changeEvents(
  stream: Stream,
  random: Random,
  fact: (event: Delivered) => boolean,
  following: number,
  lie: (events: readonly Delivered[], at: number) => Delivered[] | undefined,
): Stream | undefined {
  const places = (segment: Segment): number[] =>
    segment.events.flatMap((event, at) => (fact(event) && at + following < segment.events.length ? [at] : []));
  const at = pick(random, stream.segments, (segment) => isFrom('a revision')(segment) && places(segment).length > 0);
  return withSegment(stream, at, (segment) => {
    const fitting = places(segment);
    const events = lie(segment.events, fitting[random.below(fitting.length)] as number);
    return events && { ...segment, events };
  });
}

function changeContent(
  stream: Stream,
  random: Random,
  fact: (event: Delivered) => boolean,
  lie: (event: Delivered) => Partial<Delivered>,
): Stream | undefined {
  const at = pick(random, stream.segments, ({ events }) => events.some(fact));
  return withSegment(stream, at, (segment) => {
    const fitting = segment.events.flatMap((event, at) => (fact(event) ? [at] : []));
    const chosen = fitting[random.below(fitting.length)] as number;
    const event = segment.events[chosen] as Delivered;
    return { ...segment, events: segment.events.with(chosen, { ...event, ...lie(event) }) };
  });
}

/** Changes the initial events of a matching segment that has later events. */
const changeInitialEvents = (
  stream: Stream,
  random: Random,
  from: Opening['from'],
  lie: (events: readonly Delivered[]) => readonly Delivered[],
): Stream | undefined =>
  withSegment(
    stream,
    pick(random, stream.segments, (segment) => {
      const [first] = segment.events;
      return isFrom(from)(segment) && first?.type === 'ADDED' && segment.events.filter(isChange).length > 8;
    }),
    (segment) => ({ ...segment, events: lie(segment.events) }),
  );

const keys = ['a/one', 'a/two', 'a/three', 'b/one', 'b/two', 'b/three'];
const forgettingAtMs = 1_000;

/** Simulates a log, and a watcher that correctly receives it through every kind of watch. */
function simulateStream(seed: number, view: View): SimulatedStream {
  const random = seededRandom(seed);
  const log: LogEntry[] = [];
  const there = new Set<string>();
  let revision = 1;
  for (let turn = 0; turn < 150; turn += 1) {
    revision += 1 + random.below(2);
    const key = keys[random.below(keys.length)] as string;
    const [namespace = '', name = ''] = key.split('/');
    const leaves = there.has(key) && random.below(4) === 0;
    const labels = { colour: random.below(2) === 0 ? 'red' : 'blue' };
    log.push({ revision, key, object: leaves ? undefined : { metadata: { namespace, name, labels } } });
    if (leaves) there.delete(key);
    else there.add(key);
  }
  const visible = selectVisibleEvents(log, view);
  const compactions = [{ revision: log[50]?.revision ?? 0, requestedMs: forgettingAtMs }];
  const truth: GroundTruth = { log, headRevision: revision + 1, compactions };
  const middle = log[75]?.revision ?? 0;
  const list = { notBefore: middle - random.below(3), revision: middle, items: visible.stateAt(middle) };
  const segments = [
    ...streamFrom({ from: 'the present', notBefore: middle - 2 }, middle, visible, truth, random),
    ...streamFrom({ from: 'initial events', notBefore: middle - 2 }, middle, visible, truth, random),
    ...streamFrom({ from: 'a revision', revision: middle }, middle, visible, truth, random),
  ];
  return { truth, stream: { watcher: 'watcher', view, lists: [list], segments } };
}

/** A watch and its resumptions until all events were delivered. */
function streamFrom(
  opening: Opening,
  from: number,
  visible: VisibleEvents,
  truth: GroundTruth,
  random: Random,
): Segment[] {
  const segments: Segment[] = [];
  let revision = from;
  for (let next = opening; ; next = { from: 'a revision', revision }) {
    const events: Delivered[] = [];
    const bookmark = (initialEnds: number): void => {
      events.push({ type: 'BOOKMARK', key: '', revision, content: '', initialEnds });
    };
    if (next.from !== 'a revision')
      for (const [key, content] of visible.stateAt(revision))
        events.push({ type: 'ADDED', key, revision: 0, content, initialEnds: 0 });
    if (next.from === 'initial events') bookmark(2);
    const wanted = visible.events.slice(visible.after(revision));
    const count = random.below(2) === 0 ? wanted.length : random.below(wanted.length + 1);
    for (const event of wanted.slice(0, count)) {
      events.push(event);
      revision = event.revision;
      if (random.below(5) === 0) bookmark(0);
    }
    const ending: Ending = { how: 'cut' };
    segments.push({ opening: next, bookmarks: true, events, ending });
    if (count < wanted.length) continue;
    revision = truth.headRevision;
    bookmark(0);
    return segments;
  }
}
