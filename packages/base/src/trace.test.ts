import { describe, expect, test } from '@jest/globals';
import { callUntil, inSpan } from './call.ts';
import { parseTraceContext, type Span, type TraceContext, traceHeaders } from './trace.ts';

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
const traceparent = `00-${traceId}-${spanId}-01`;

test.each<[string | undefined, TraceContext | undefined]>([
  [undefined, undefined],
  ['', undefined],
  [traceparent, { traceId, spanId, flags: 1 }],
  [`01-${traceId}-${spanId}-01-more`, { traceId, spanId, flags: 1 }],
  [`00-${traceId}-${spanId}-01-more`, undefined],
  [`ff-${traceId}-${spanId}-01`, undefined],
  [`00-${'0'.repeat(32)}-${spanId}-01`, undefined],
  [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
  [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
])('parses the traceparent %s', (header, context) => {
  expect(parseTraceContext(header, undefined)).toEqual(context);
});

test.each<[string, string, boolean]>([
  ['is propagated', 'vendor=1,other=2', true],
  ['is dropped if it is too long', 'v'.repeat(513), false],
  ['is dropped if it is no valid header', 'a=1\r\nx: y', false],
])('a tracestate %s', (_, state, isKept) => {
  const context = parseTraceContext(traceparent, state);
  expect(traceHeaders(context as TraceContext)).toEqual({ traceparent, ...(isKept && { tracestate: state }) });
});

describe('A span of a part of the work', () => {
  const began: string[] = [];
  const ended: unknown[] = [];
  const spanOf = (id: string): Span => ({
    context: { traceId, spanId: id, flags: 1 },
    child: (name) => {
      began.push(name);
      return spanOf(name);
    },
    set: () => {},
    fail: () => {},
    end: (error) => void ended.push(error),
  });
  const failure = new Error('failed');

  test('does not exist if the request is not sampled', () => {
    expect(inSpan(callUntil(1), 'part', (call) => call)).toEqual(callUntil(1));
  });

  test.each<[string, () => unknown, unknown]>([
    ['succeeds', () => 'at once', undefined],
    ['succeeds later', async () => 'later', undefined],
    [
      'fails',
      () => {
        throw failure;
      },
      failure,
    ],
    ['fails later', () => Promise.reject(failure), failure],
  ])('ends when the work %s', async (_, work, error) => {
    const call = callUntil(1, spanOf('whole'));
    const inner: unknown[] = [];
    const part = async (): Promise<unknown> =>
      inSpan(call, 'part', (within) => {
        inner.push(within.trace?.context.spanId);
        return work();
      });
    await part().catch((thrown: unknown) => expect(thrown).toBe(error));
    expect(inner).toEqual(['part']);
    expect(ended.splice(0)).toEqual([error]);
  });
});
