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
])('the traceparent %s is understood', (header, context) => {
  expect(parseTraceContext(header, undefined)).toEqual(context);
});

test.each<[string, string, boolean]>([
  ['is passed on', 'vendor=1,other=2', true],
  ['is dropped where it is too long', 'v'.repeat(513), false],
  ['is dropped where it would be no header', 'a=1\r\nx: y', false],
])('a tracestate %s', (_, state, isKept) => {
  const context = parseTraceContext(traceparent, state);
  expect(traceHeaders(context as TraceContext)).toEqual({ traceparent, ...(isKept && { tracestate: state }) });
});

describe('A part of the work', () => {
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

  test('has no span where the request is not sampled', () => {
    expect(inSpan(callUntil(1), 'part', (call) => call)).toEqual(callUntil(1));
  });

  test.each<[string, () => unknown, unknown]>([
    ['is done', () => 'at once', undefined],
    ['is done later', async () => 'later', undefined],
    [
      'fails',
      () => {
        throw failure;
      },
      failure,
    ],
    ['fails later', () => Promise.reject(failure), failure],
  ])('ends its span when it %s', async (_, work, error) => {
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
