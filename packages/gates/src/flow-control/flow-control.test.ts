import { beforeEach, expect, test } from '@jest/globals';
import { type Call, callUntil } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { FlowControl, FlowRejectedError, type FlowSeats } from './flow-control.ts';
import { compileFlowSchema, type FlowRequest } from './flow-schemas.ts';
import type { PriorityLevelObject } from './priority-level.ts';

let clock: FakeClock;
let control: FlowControl;
let rejected: string[];
beforeEach(() => {
  clock = fakeClock();
  rejected = [];
});

const seats = 10;
const waitMaxMs = 1_000;

type Limited = NonNullable<PriorityLevelObject['spec']['limited']>;

const queuing = { queues: 8, handSize: 1, queueLengthLimit: 50 };
const level = (name: string, shares: number, more: Partial<Limited> = {}): PriorityLevelObject => ({
  metadata: { name, uid: `uid-${name}` },
  spec: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: shares, limitResponse: { type: 'Queue', queuing }, ...more },
  },
});
const exempt: PriorityLevelObject = { metadata: { name: 'exempt', uid: 'e' }, spec: { type: 'Exempt', exempt: {} } };

/** A schema for each level: the group of its name belongs to it, and each user is a flow. */
function open(...levels: PriorityLevelObject[]): void {
  const measures = {
    dispatched: () => {},
    rejected: (_: unknown, reason: string) => void rejected.push(reason),
    waited: () => {},
  };
  control = new FlowControl({ clock, seats, waitMaxMs, measures });
  configure(...levels);
}

const configure = (...levels: PriorityLevelObject[]): void =>
  control.configure(
    levels.map(({ metadata: { name = '' } }) =>
      compileFlowSchema({
        metadata: { name, uid: `schema-${name}` },
        spec: {
          priorityLevelConfiguration: { name },
          matchingPrecedence: 1_000,
          distinguisherMethod: { type: 'ByUser' },
          rules: [
            {
              subjects: [{ kind: 'Group', group: { name } }],
              nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
            },
          ],
        },
      }),
    ),
    levels,
  );

const requestOf = (group: string, user = 'ann'): FlowRequest => ({
  user: { name: user, uid: undefined, groups: [group], extra: {} },
  info: { verb: 'get', path: '/', resource: undefined },
});

function ask(group: string, { user = 'ann', width = 1, call }: { user?: string; width?: number; call?: Call } = {}) {
  const request = requestOf(group, user);
  const flow = control.classify(request);
  if (!flow) throw new Error('no flow');
  return control.acquire(flow, request, width, call ?? callUntil(clock.monotonicMs() + 60_000));
}

/** Requests that got their seats at once. */
const running = (group: string, count: number, user = 'ann'): FlowSeats[] =>
  Array.from({ length: count }, () => {
    const got = ask(group, { user });
    if (got instanceof Promise) throw new Error('it has to wait');
    return got;
  });

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

/** Names of the requests in the order in which they get their seats. */
function waitingOf(started: string[], group: string, user: string, name = user): Promise<void> {
  const got = ask(group, { user });
  if (!(got instanceof Promise)) throw new Error('it does not wait');
  return got.then((held) => {
    started.push(name);
    held.release();
  });
}

test('seats are shared out by the shares of the levels', () => {
  open(level('high', 30), level('low', 10));
  expect(Array.from(control.levels, ({ name, seats: { nominal } }) => [name, nominal])).toEqual([
    ['high', 8],
    ['low', 3],
  ]);
});

test('a request waits for a seat of its level, and runs when one is free', async () => {
  open(level('a', 1));
  const [first] = running('a', seats);
  const started: string[] = [];
  const waiting = waitingOf(started, 'a', 'ann');
  await settled();
  expect(started).toEqual([]);
  first?.release();
  await waiting;
  expect(started).toEqual(['ann']);
});

test('a level that is full does not delay another one', () => {
  open(level('a', 1), level('b', 1));
  running('a', 5);
  expect(ask('a')).toBeInstanceOf(Promise);
  running('b', 5);
});

test('a level borrows what others lend, and the lender gets its seats first', async () => {
  open(level('a', 1), level('b', 1, { lendablePercent: 60 }));
  const borrowed = running('a', 8);
  const started: string[] = [];
  const more = waitingOf(started, 'a', 'ann', 'a');
  // Two were never lent.
  running('b', 2);
  const own = waitingOf(started, 'b', 'ann', 'b');
  await settled();
  expect(started).toEqual([]);
  borrowed[0]?.release();
  await own;
  expect(started[0]).toBe('b');
  await more;
});

test('a level borrows no more than its limit', () => {
  open(level('a', 1, { borrowingLimitPercent: 20 }), level('b', 1, { lendablePercent: 100 }));
  running('a', 6);
  expect(ask('a')).toBeInstanceOf(Promise);
});

test('flows are served in turns, however many requests one of them has', async () => {
  open(level('a', 1, { limitResponse: { type: 'Queue', queuing: { ...queuing, queues: 1_000 } } }));
  const held = running('a', seats);
  const started: string[] = [];
  const all = [
    ...Array.from({ length: 30 }, () => waitingOf(started, 'a', 'elephant')),
    ...Array.from({ length: 3 }, () => waitingOf(started, 'a', 'mouse')),
  ];
  held[0]?.release();
  await Promise.all(all);
  expect(started.slice(0, 8).filter((name) => name === 'mouse')).toHaveLength(3);
});

test('a flow of long requests waits for one of short ones', async () => {
  open(level('a', 1, { limitResponse: { type: 'Queue', queuing: { ...queuing, queues: 1_000 } } }));
  const held = running('a', seats);
  const long = ask('a', { user: 'elephant' });
  held[0]?.release();
  const running1 = await long;
  const started: string[] = [];
  clock.advance(500);
  const all = [waitingOf(started, 'a', 'elephant'), waitingOf(started, 'a', 'elephant')];
  all.push(waitingOf(started, 'a', 'mouse'), waitingOf(started, 'a', 'mouse'));
  running1.release();
  await Promise.all(all);
  expect(started.slice(0, 2)).toEqual(['mouse', 'mouse']);
});

test('what finds its queue full is refused at once', async () => {
  open(level('a', 1, { limitResponse: { type: 'Queue', queuing: { queues: 1, handSize: 1, queueLengthLimit: 2 } } }));
  running('a', seats);
  void ask('a');
  void ask('a');
  await expect(ask('a')).rejects.toThrow(FlowRejectedError);
  expect(rejected).toEqual(['queue-full']);
});

test('refusals of a level are held back when there are many, those of others and of exempt requests are not', () => {
  open(level('a', 1), level('b', 1), exempt);
  const call = callUntil(clock.monotonicMs() + 60_000);
  const hold = (group: string) => control.holdRefusal(control.classify(requestOf(group)), call);
  const count = (group: string): number => Array.from({ length: 500 }, () => hold(group)).filter(Boolean).length;
  expect(count('a')).toBeGreaterThan(0);
  expect(hold('b')).toBeUndefined();
  expect(count('exempt')).toBe(0);
});

test('a level without queues refuses', async () => {
  open(level('a', 1, { limitResponse: { type: 'Reject' } }));
  running('a', seats);
  await expect(ask('a')).rejects.toThrow(FlowRejectedError);
  expect(rejected).toEqual(['concurrency-limit']);
});

test('a wait ends after a while, and no seat is lost', async () => {
  open(level('a', 1));
  const [first] = running('a', seats);
  const waiting = ask('a');
  const late = waiting instanceof Promise ? waiting.catch((error: unknown) => error) : undefined;
  await settled();
  clock.advance(waitMaxMs);
  // In the turn of the timer, before the promise is settled.
  first?.release();
  expect(await late).toBeInstanceOf(FlowRejectedError);
  expect(rejected).toEqual(['time-out']);
  running('a', 1);
});

test('a client that leaves waits no more', async () => {
  open(level('a', 1));
  const [first] = running('a', seats);
  const controller = new AbortController();
  const call: Call = { ...callUntil(clock.monotonicMs() + 60_000), signal: controller.signal };
  const waiting = ask('a', { call });
  const gone = waiting instanceof Promise ? waiting.catch((error: unknown) => error) : undefined;
  await settled();
  controller.abort(new Error('gone'));
  first?.release();
  expect(await gone).toEqual(new Error('gone'));
  expect(rejected).toEqual([]);
  running('a', 1);
});

test('a wide request takes more seats, and never more than its level has', () => {
  open(level('a', 1), level('b', 1));
  const wide = ask('a', { width: 100 });
  expect(wide).not.toBeInstanceOf(Promise);
  expect(ask('a')).toBeInstanceOf(Promise);
});

test('the exempt level has no limit', () => {
  open(exempt, level('a', 1));
  running('exempt', 1_000);
  running('a', seats);
});

test('other seats hold for what waits, too', async () => {
  open(level('a', 1), level('b', 9));
  running('a', 1);
  const started: string[] = [];
  const waiting = waitingOf(started, 'a', 'ann');
  await settled();
  expect(started).toEqual([]);
  configure(level('a', 9), level('b', 1));
  await waiting;
});

test('a request that has let its seat go waits for one again', async () => {
  open(level('a', 1));
  const held = running('a', seats);
  held[0]?.release();
  const [other] = running('a', 1);
  const again = held[0]?.reacquire();
  expect(again).toBeInstanceOf(Promise);
  other?.release();
  await again;
  expect(ask('a')).toBeInstanceOf(Promise);
});

test('the headers name both objects', () => {
  open(level('a', 1));
  expect(control.classify(requestOf('a'))?.headers).toEqual({
    'x-kubernetes-pf-flowschema-uid': 'schema-a',
    'x-kubernetes-pf-prioritylevel-uid': 'uid-a',
  });
});
