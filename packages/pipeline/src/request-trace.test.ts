import { beforeEach, expect, test } from '@jest/globals';
import { End, LatencyTracker, type Span, systemClock as clock } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { RequestSpan, Tracer } from '@cluster-apiserver/telemetry';
import type { ApiRequest, ApiResponse, ExchangeEnd, Handler } from './exchange.ts';
import type { ReceivedContext, RequestInfoContext } from './request-context.ts';
import { parseRequestInfo } from './request-info.ts';
import { answer } from './stages/answer.ts';

let begun: RequestSpan[];
let log: string[];
let end: End<ExchangeEnd>;
let samples: boolean;
beforeEach(() => {
  [begun, log, end, samples] = [[], [], new End(), false];
});

const spanOf = (name: string): Span => ({
  context: { traceId: '1'.repeat(32), spanId: '2'.repeat(16), flags: 1 },
  child: (below) => {
    log.push(`${below} begins`);
    return spanOf(below);
  },
  set: () => {},
  fail: (type) => void log.push(`${name} fails: ${type}`),
  end: () => void log.push(`${name} ends`),
});
const tracer: Tracer = {
  samples: () => samples,
  begin: (request) => {
    begun.push(request);
    return spanOf('request');
  },
};

const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
const traceparent = (flags: string): string => `00-${traceId}-${spanId}-${flags}`;

/** What the stages use of a request. */
const requestWith = (headers: Readonly<Record<string, string>>): ApiRequest =>
  ({
    method: 'GET',
    target: '/version',
    protocol: 'HTTP/2.0',
    remoteAddress: '10.0.0.1',
    header: (name: string) => headers[name],
    onEnd: (listener: (end: ExchangeEnd) => void) => end.subscribe(listener),
  }) as Partial<ApiRequest> as ApiRequest;

const latency = new LatencyTracker(clock);

/** Authenticates the user and responds. */
const answering =
  (groups: readonly string[] | undefined, status = 200): Handler<ReceivedContext> =>
  (context) => {
    const known = Object.assign(context, {
      info: parseRequestInfo('GET', '/version'),
    }) as ReceivedContext as RequestInfoContext;
    known.trace?.beginAuthentication(known);
    const user: UserInfo | undefined = groups && { name: 'ann', groups: [...groups] };
    known.trace?.endAuthentication(known, user);
    return { status, headers: {} };
  };

const send = (
  headers: Readonly<Record<string, string>>,
  next: Handler<ReceivedContext>,
): ApiResponse | Promise<ApiResponse> =>
  answer(
    {
      clock,
      tracer,
      allowedOrigin: () => false,
      measures: { record: () => {} },
      requestLog: { logsAll: false, ended: () => {} },
      report: () => {},
    },
    next,
  )({ request: requestWith(headers), latency });

test.each<[string, Readonly<Record<string, string>>]>([
  ['that chance leaves out', {}],
  ['with a trace that cannot be read', { traceparent: '00-zz-zz-01' }],
])('no span is created for a request %s', (_, headers) => {
  const context: ReceivedContext[] = [];
  void send(headers, (one) => {
    context.push(one);
    return { status: 200, headers: {} };
  });
  expect(context).toEqual([{ request: expect.anything(), latency }]);
  expect([begun, log]).toEqual([[], []]);
});

const [masters, monitoring] = [['system:masters'], ['devs', 'system:monitoring']];
test.each<[string, string, readonly string[] | undefined, boolean, object | undefined]>([
  ['a master who records', '01', masters, false, { parent: { traceId, spanId, flags: 1 } }],
  ['a master who does not', '00', masters, true, undefined],
  ['somebody of monitoring who records', '01', monitoring, false, { parent: { traceId, spanId, flags: 1 } }],
  ['somebody else who records', '01', ['devs'], false, undefined],
  ['somebody else whom chance chose', '01', ['devs'], true, { link: { traceId, spanId, flags: 1 } }],
  ['somebody else who does not record and whom chance chose', '00', ['devs'], true, { link: { flags: 0 } }],
  ['an unauthenticated client who records', '01', undefined, false, undefined],
  ['an unauthenticated client whom chance chose', '01', undefined, true, { link: { traceId } }],
])('the trace of %s', (_, flags, groups, chosen, origin) => {
  samples = chosen;
  void send({ traceparent: traceparent(flags) }, answering(groups));
  expect(begun.map(({ parent, link }) => ({ ...(parent && { parent }), ...(link && { link }) }))).toMatchObject(
    origin ? [origin] : [],
  );
});

test.each<[string, ExchangeEnd['outcome'], number, readonly string[]]>([
  ['has been sent', 'complete', 200, []],
  ['is an internal error', 'complete', 500, ['request fails: 500']],
  ['is cut off', 'aborted', 200, ['request fails: aborted']],
])('the span ends when the response %s', async (_, outcome, status, failures) => {
  samples = true;
  await send({}, answering([], status));
  expect(log).not.toContain('request ends');
  end.reach({ outcome, bodyBytes: 1 });
  expect(log).toEqual(['authentication begins', 'authentication ends', ...failures, 'request ends']);
});

test('the span ends with the response if the client disconnected before', async () => {
  samples = true;
  end.reach({ outcome: 'aborted', bodyBytes: 0 });
  await send({}, answering([]));
  expect(log.slice(2)).toEqual(['request fails: aborted', 'request ends']);
});

test('a request that is refused before authentication has a span', async () => {
  samples = true;
  await send({}, async () => ({ status: 400, headers: {} }));
  expect(begun).toMatchObject([{ name: 'GET', attributes: { 'http.request.method': 'GET' } }]);
  end.reach({ outcome: 'complete', bodyBytes: 1 });
  expect(log).toEqual(['request ends']);
});
