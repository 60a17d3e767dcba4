import { describe, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { EventQueue, type EventQueueOptions } from './event-queue.ts';

/** What is sent waits until the test lets it go. */
function openQueue(options: Partial<EventQueueOptions> = {}) {
  const clock = fakeClock();
  const sent: string[][] = [];
  const sends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const lost: { readonly error: string; readonly events: number }[] = [];
  const queue = new EventQueue({
    clock,
    eventsMax: 10,
    charactersMax: 1_000,
    batch: { dueEvents: 1, waitMs: 0, eventsMax: 3, charactersMax: 100 },
    iterations: 1,
    throttle: undefined,
    sendsMax: 1,
    send: (events) => {
      sent.push([...events]);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      sends.push({ resolve, reject });
      return promise;
    },
    sent: () => {},
    lost: (error, events) => void lost.push({ error: String(error), events }),
    ...options,
  });
  return { clock, queue, sent, sends, lost };
}

const addAll = (queue: EventQueue, events: string): boolean[] => events.split('').map((event) => queue.add(event));

describe('Events', () => {
  test('of one event loop iteration form one batch, and those that arrive meanwhile the next ones', async () => {
    const { queue, sent, sends } = openQueue();
    addAll(queue, 'ab');
    await untilTurned(() => sent.length === 1);
    addAll(queue, 'cdef');
    sends[0]?.resolve();
    await untilTurned(() => sent.length === 2);
    sends[1]?.resolve();
    await untilTurned(() => sent.length === 3);
    expect(sent).toEqual([['a', 'b'], ['c', 'd', 'e'], ['f']]);
    sends[2]?.resolve();
    await untilTurned(() => queue.events === 0);
  });

  test('are split into batches by their size', async () => {
    const batch = { dueEvents: 1, waitMs: 0, eventsMax: 9, charactersMax: 5 };
    const { queue, sent } = openQueue({ batch, sendsMax: 9 });
    for (const event of ['aaa', 'bb', 'c', 'too long to be split', 'd']) queue.add(event);
    await untilTurned(() => sent.length === 4);
    expect(sent).toEqual([['aaa', 'bb'], ['c'], ['too long to be split'], ['d']]);
  });

  test('wait until the batch is full or the maximum wait is over', async () => {
    const batch = { dueEvents: 3, waitMs: 30_000, eventsMax: 3, charactersMax: 100 };
    const { clock, queue, sent, sends } = openQueue({ batch });
    addAll(queue, 'abcd');
    await untilTurned(() => sent.length === 1);
    sends[0]?.resolve();
    await untilTurned(() => queue.events === 1);
    expect(sent).toEqual([['a', 'b', 'c']]);
    clock.advance(30_000);
    expect(sent).toEqual([['a', 'b', 'c'], ['d']]);
  });

  test('are rejected while the queue is full', async () => {
    const { queue, sends } = openQueue({ eventsMax: 2 });
    expect(addAll(queue, 'abc')).toEqual([true, true, false]);
    await untilTurned(() => sends.length === 1);
    expect(queue.add('d')).toBe(false);
    sends[0]?.resolve();
    await untilTurned(() => queue.events === 0);
    expect(queue.add('e')).toBe(true);
  });

  test('are rejected when their total size is too large', () => {
    const { queue } = openQueue({ charactersMax: 5 });
    expect(['abc', 'def', 'gh', 'i'].map((event) => queue.add(event))).toEqual([true, false, true, false]);
  });

  test('wait for room, and what is reserved counts', async () => {
    const { queue, sends } = openQueue({ charactersMax: 5 });
    queue.addAlways('abc');
    const order: string[] = [];
    const large = Promise.resolve(queue.reserve(4)).then((release) => {
      order.push('large');
      return release;
    });
    const small = Promise.resolve(queue.waitForRoom()).then((has) => order.push(`small ${has}`));
    await untilTurned(() => sends.length === 1);
    expect(order).toEqual([]);
    sends[0]?.resolve();
    const release = await large;
    await small;
    expect(order.toSorted()).toEqual(['large', 'small true']);
    expect(queue.add('de')).toBe(false);
    release?.();
    expect(queue.add('de')).toBe(true);
  });

  test('do not wait for room for ever', async () => {
    const { clock, queue } = openQueue({ charactersMax: 5 });
    queue.addAlways('too long for the queue');
    const waits = [queue.waitForRoom(), queue.reserve(2), queue.reserve(6)];
    expect(waits[2]).toBeUndefined();
    clock.advance(10_000);
    expect(await Promise.all(waits.map((one) => Promise.resolve<unknown>(one)))).toEqual([false, undefined, undefined]);
  });

  test('of requests that were let in are added to a full queue', () => {
    const { queue } = openQueue({ eventsMax: 2 });
    expect(addAll(queue, 'abc')).toEqual([true, true, false]);
    expect(queue.addAlways('d')).toBe(true);
    expect(queue.events).toBe(3);
  });

  test('that cannot be sent are dropped, and the next ones are sent', async () => {
    const { queue, sent, sends, lost } = openQueue();
    addAll(queue, 'abcd');
    await untilTurned(() => sent.length === 1);
    sends[0]?.reject(new Error('gone'));
    await untilTurned(() => sent.length === 2);
    expect(lost).toEqual([{ error: 'Error: gone', events: 3 }]);
    expect(sent[1]).toEqual(['d']);
  });

  test('are throttled to the configured rate', async () => {
    const batch = { dueEvents: 1, waitMs: 0, eventsMax: 1, charactersMax: 100 };
    const { clock, queue, sent } = openQueue({
      batch,
      sendsMax: 9,
      throttle: { perSecond: 2, burst: 3, exceptFull: false },
    });
    addAll(queue, 'abcdef');
    await untilTurned(() => sent.length === 3);
    clock.advance(499);
    expect(sent).toHaveLength(3);
    clock.advance(1);
    expect(sent).toHaveLength(4);
    clock.advance(1_000);
    expect(sent).toHaveLength(6);
  });
});

test('events wait for others for some iterations of the event loop', async () => {
  const { queue, sent } = openQueue({ iterations: 3 });
  for (const event of 'abc') {
    queue.add(event);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await untilTurned(() => sent.length === 1);
  expect(sent).toEqual([['a', 'b', 'c']]);
});

describe('Throttled events', () => {
  const throttle = { perSecond: 1, burst: 1, exceptFull: true };

  test.each([
    ['many', ['b', 'c', 'd']],
    ['long', ['b'.repeat(100)]],
  ])('do not wait if they are %s enough to fill a batch', async (_, full) => {
    const { queue, sent } = openQueue({ throttle, sendsMax: 9 });
    queue.add('a');
    await untilTurned(() => sent.length === 1);
    for (const event of full) queue.add(event);
    queue.add('e');
    await untilTurned(() => sent.length === 2);
    expect(sent).toEqual([['a'], full]);
  });
});

describe('A caller that waits for an event', () => {
  test('learns whether it was sent', async () => {
    const { queue, sends } = openQueue();
    const learned: string[] = [];
    for (const event of 'abcd') queue.addAlways(event, (isSent) => learned.push(`${event} ${isSent}`));
    await untilTurned(() => sends.length === 1);
    sends[0]?.resolve();
    await untilTurned(() => sends.length === 2);
    sends[1]?.reject(new Error('gone'));
    await untilTurned(() => queue.events === 0);
    expect(learned).toEqual(['a true', 'b true', 'c true', 'd false']);
  });

  test('waits 30 seconds at most', async () => {
    const { clock, queue, sends } = openQueue();
    const learned: string[] = [];
    const wait = (event: string): unknown => queue.addAlways(event, (isSent) => learned.push(`${event} ${isSent}`));
    wait('a');
    await untilTurned(() => sends.length === 1);
    clock.advance(10_000);
    wait('b');
    clock.advance(19_000);
    expect(learned).toEqual([]);
    clock.advance(1_000);
    expect(learned).toEqual(['a false']);
    clock.advance(10_000);
    expect(learned).toEqual(['a false', 'b false']);
    sends[0]?.resolve();
    await untilTurned(() => sends.length === 2);
    expect(learned).toHaveLength(2);
    expect(clock.waiting).toBe(0);
  });
});

describe('A closing queue', () => {
  test('sends the queued events at once, without throttling', async () => {
    const batch = { dueEvents: 9, waitMs: 30_000, eventsMax: 2, charactersMax: 100 };
    const { clock, queue, sent, sends, lost } = openQueue({
      batch,
      throttle: { perSecond: 1, burst: 1, exceptFull: false },
    });
    addAll(queue, 'abc');
    const closed = queue.close(10_000);
    sends[0]?.resolve();
    await untilTurned(() => sends.length === 2);
    sends[1]?.resolve();
    await closed;
    expect([sent, lost]).toEqual([[['a', 'b'], ['c']], []]);
    expect(clock.waiting).toBe(0);
    expect(queue.add('d')).toBe(false);
  });

  test('drops what is not sent in time and counts it once', async () => {
    const { clock, queue, sends, lost } = openQueue();
    const learned: boolean[] = [];
    for (const event of 'abcd') queue.addAlways(event, (isSent) => learned.push(isSent));
    const closed = queue.close(10_000);
    clock.advance(10_000);
    await closed;
    expect(lost).toEqual([{ error: 'Error: the server stopped before they were sent', events: 4 }]);
    expect(learned).toEqual([false, false, false, false]);
    sends[0]?.reject(new Error('gone'));
    await untilTurned(() => queue.events === 1);
    expect(lost).toHaveLength(1);
    expect(clock.waiting).toBe(0);
  });

  test('closes at once when it is empty', async () => {
    const { clock, queue } = openQueue();
    await queue.close(10_000);
    expect(clock.waiting).toBe(0);
  });
});
