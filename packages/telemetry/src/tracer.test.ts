import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import os from 'node:os';
import path from 'node:path';
import { parseTraceContext, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { until } from '@cluster-apiserver/testkit/until';
import { type OtlpReceiver, startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { openTracer } from './open-tracer.ts';
import type { OpenTracer, TracerOptions } from './tracer.ts';

const million = 1_000_000;
const held = 2048; // as many as may wait

let exported = 0;
let dropped: Record<string, number> = {};
let reports: (string | undefined)[] = [];
let receiver: OtlpReceiver | undefined;
let tracer: OpenTracer | undefined;
beforeEach(() => {
  [exported, dropped, reports] = [0, {}, []];
});
afterEach(async () => {
  await tracer?.close();
  await receiver?.stop();
  [tracer, receiver] = [undefined, undefined];
});

async function open(address: string, part: Partial<TracerOptions> = {}): Promise<OpenTracer> {
  tracer = await openTracer({
    address,
    samplingRatePerMillion: million,
    resource: { 'service.name': 'test' },
    clock,
    random: seededRandom(1),
    measures: {
      exported: (spans) => {
        exported += spans;
      },
      dropped: (reason, spans) => {
        dropped[reason] = (dropped[reason] ?? 0) + spans;
      },
    },
    exported: (error) => reports.push(error && 'failed'),
    ...part,
  });
  return tracer;
}
const begin = (by: OpenTracer, name = 'request') => by.begin({ name, startMs: clock.monotonicMs(), attributes: {} });
const record = (by: OpenTracer, spans: number): void => {
  for (let span = 0; span < spans; span++) begin(by).end();
};

describe('A collector is reached', () => {
  const socket = path.join(os.tmpdir(), `otlp-${process.pid}.sock`);
  test.each<[string, string, string]>([
    ['by its port', '127.0.0.1:0', ''],
    ['by its socket', `unix:${socket}`, `unix://${socket}`],
    ['by its abstract socket', `unix:\0/otlp-${process.pid}`, `unix://abstract/\0/otlp-${process.pid}`],
  ])('%s', async (_, listensAt, address) => {
    receiver = await startReceiver(listensAt);
    const by = await open(address || receiver.address);
    const request = begin(by);
    const stage = request.child('stage');
    stage.end(new RangeError('secret'));
    request.end();
    request.set({ late: true });
    request.end();
    await until('the spans', () => exported === 2 || undefined);
    expect(receiver.spans).toMatchObject([
      {
        name: 'stage',
        parentSpanId: request.context.spanId,
        isFailed: true,
        attributes: { 'error.type': 'RangeError' },
      },
      { name: 'request', parentSpanId: '', isFailed: false, attributes: {}, resource: { 'service.name': 'test' } },
    ]);
    expect([exported, dropped, reports]).toEqual([2, {}, [undefined]]);
  });
});

describe('A collector that', () => {
  test('rejects spans: they are dropped and reported', async () => {
    receiver = await startReceiver();
    receiver.refusing = true;
    const by = await open(receiver.address);
    record(by, 3);
    await until('the failure', () => reports[0]);
    expect([exported, dropped]).toEqual([0, { export_failed: 3 }]);
    receiver.refusing = false;
    record(by, 2);
    await until('the spans', () => exported === 2 || undefined);
    expect([exported, dropped, reports]).toEqual([2, { export_failed: 3 }, ['failed', undefined]]);
  });

  test('is unreachable: spans are dropped', async () => {
    receiver = await startReceiver();
    const { address } = receiver;
    await receiver.stop();
    record(await open(address), 3);
    await until('the failure', () => reports[0]);
    expect(dropped).toEqual({ export_failed: 3 });
  });

  test('does not respond: the memory for spans is bounded', async () => {
    const answer = Promise.withResolvers<void>();
    receiver = await startReceiver();
    receiver.ready = answer.promise;
    const by = await open(receiver.address);
    record(by, held + 100);
    expect(dropped).toEqual({ queue_full: 100 });
    // Those on their way still count, whatever the batches are.
    await until('the first batch', async () => {
      const before = dropped['queue_full'] as number;
      record(by, 1);
      return dropped['queue_full'] === before + 1 || undefined;
    });
    answer.resolve();
    await until('the spans', () => exported === held || undefined);
    expect(receiver.spans).toHaveLength(held);
  });
});

test('spans that wait hold no texts of their requests', async () => {
  const textBytes = 1_000_000;
  receiver = await startReceiver();
  const answer = Promise.withResolvers<void>();
  receiver.ready = answer.promise;
  const by = await open(receiver.address);
  const before = usedHeapBytes();
  for (let span = 0; span < 50; span++) {
    const text = String(span).padEnd(textBytes, 'x');
    const traceparent = `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-${text}`;
    const request = by.begin({
      name: text.slice(0, 300),
      startMs: clock.monotonicMs(),
      attributes: { path: text },
      ...(span % 2 === 0
        ? { parent: parseTraceContext(traceparent, undefined) }
        : { link: parseTraceContext(traceparent, undefined) }),
    });
    request.set({ plural: text.slice(0, 100) });
    request.end();
  }
  expect(usedHeapBytes() - before).toBeLessThan(10 * textBytes);
  answer.resolve();
  await until('the spans', () => exported === 50 || undefined);
  expect(receiver.spans[0]).toMatchObject({ attributes: { path: expect.stringMatching(/^0x{511}$/) } });
});

test('ended spans are exported when the server stops', async () => {
  receiver = await startReceiver();
  const by = await open(receiver.address);
  record(by, 600);
  await by.close();
  expect(receiver.spans).toHaveLength(600);
});

test.each([
  [0, 0],
  [250_000, 250],
  [million, 1_000],
])('samples %i of a million requests at random', async (samplingRatePerMillion, expected) => {
  const by = await open('127.0.0.1:1', { samplingRatePerMillion });
  const sampled = Array.from({ length: 1_000 }, () => by.samples()).filter(Boolean).length;
  expect(Math.abs(sampled - expected)).toBeLessThanOrEqual(40);
});

test('a jump of the wall clock changes no duration', async () => {
  receiver = await startReceiver();
  let nowMs = 1_000_000;
  const by = await open(receiver.address, { clock: { ...clock, now: () => nowMs, monotonicMs: () => 5_000.25 } });
  const request = by.begin({ name: 'request', startMs: 4_999.125, attributes: {} });
  nowMs = 9_000_000;
  request.end();
  await until('the span', () => receiver?.spans[0]);
  expect(receiver.spans[0]).toMatchObject({ startNanos: 999_998_875_000n, endNanos: 1_000_000_000_000n });
});
