import { beforeEach, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { End, LatencyTracker } from '@cluster-apiserver/base';
import { sourceOf } from '../../test/body-source.ts';
import type { ApiRequest, ApiResponse, ExchangeEnd } from '../exchange.ts';

import { type EndedRequest, logResponse } from './log-requests.ts';

let clock: FakeClock;
let ended: EndedRequest[];
let end: End<ExchangeEnd>;
let listeners: number;
const whole: ExchangeEnd = { outcome: 'complete', bodyBytes: 7 };

beforeEach(() => {
  clock = fakeClock();
  ended = [];
  end = new End();
  listeners = 0;
});

/** A request with these times until its response is ready and until the response has been sent. */
function run(
  logsAll: boolean,
  body: Pick<ApiResponse, 'body' | 'stream'>,
  { readyMs = 0, sendingMs = 0, isAborted = false }: { readyMs?: number; sendingMs?: number; isAborted?: boolean },
): void {
  const request = {
    method: 'GET',
    isAborted,
    onEnd: (listener) => {
      listeners += 1;
      end.subscribe(listener);
    },
  } as Partial<ApiRequest> as ApiRequest; // nothing else is asked
  const latency = new LatencyTracker(clock);
  clock.advance(readyMs);
  logResponse(
    { logsAll, ended: (one) => ended.push(one) },
    { request, latency },
    { status: 200, headers: {}, ...body },
  );
  clock.advance(sendingMs);
  end.reach(whole);
}

const small = { body: 'x' };
const large = { body: sourceOf([], 1) };
const chunked = { body: sourceOf([]) };
const stream = { stream: async () => {} };

test.each<[string, Parameters<typeof run>[1], Parameters<typeof run>[2], EndedRequest['slow'][]]>([
  ['quick', small, { readyMs: 500 }, []],
  ['slow', small, { readyMs: 501 }, ['request']],
  ['slow without a body', {}, { readyMs: 501 }, ['request']],
  ['quick, and read slowly', small, { sendingMs: 60_000 }, []],
  ['large and quick', large, { readyMs: 200, sendingMs: 300 }, []],
  ['large, and made slowly while it is sent', large, { readyMs: 200, sendingMs: 301 }, ['response']],
  ['of unknown length, and made slowly while it is sent', chunked, { sendingMs: 501 }, ['response']],
  ['large and slow', chunked, { readyMs: 501, sendingMs: 501 }, ['request']],
  ['long-running', stream, { readyMs: 501, sendingMs: 60_000 }, []],
])('without request logs, a request that is %s', (_, body, times, slow) => {
  run(false, body, times);
  expect(ended.map((one) => one.slow)).toEqual(slow);
});

test('quick small requests are not tracked', () => {
  run(false, { body: Buffer.from('x') }, {});
  expect(listeners).toBe(0);
});

test('with request logs, a small response is logged when it is ready', () => {
  run(true, { body: 'four' }, { readyMs: 3, sendingMs: 5_000 });
  expect(listeners).toBe(0);
  expect(ended).toMatchObject([{ end: { outcome: 'complete', bodyBytes: 4 }, readyMs: 3, totalMs: 3 }]);
});

test('with request logs, a stream is reported once it is over', () => {
  run(true, stream, { readyMs: 600, sendingMs: 5_000 });
  expect(ended).toEqual([
    expect.objectContaining({ status: 200, end: whole, readyMs: 600, totalMs: 5_600, slow: undefined }),
  ]);
});

test('a request whose client has left before is reported at once', () => {
  run(true, small, { readyMs: 10, isAborted: true });
  expect(listeners).toBe(0);
  expect(ended).toMatchObject([{ end: { outcome: 'aborted', bodyBytes: 0 }, readyMs: 10, totalMs: 10 }]);
});

test('a large response whose client has left before is reported at once', () => {
  end.reach({ outcome: 'aborted', bodyBytes: 0 });
  run(true, chunked, { readyMs: 10, sendingMs: 5_000 });
  expect(ended).toMatchObject([{ end: { outcome: 'aborted', bodyBytes: 0 }, readyMs: 10, totalMs: 10 }]);
});
