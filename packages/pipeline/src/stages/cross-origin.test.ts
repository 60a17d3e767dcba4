import { expect, test } from '@jest/globals';
import { LatencyTracker, systemClock as clock } from '@cluster-apiserver/base';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import { answer as answerRequests } from './answer.ts';
import { requireKnownOrigin } from './cross-origin.ts';

const isAllowed = (origin: string): boolean => origin === 'https://board.example';
const answer = { status: 200, headers: { 'audit-id': 'a' } };

const asking = (headers: Readonly<Record<string, string>>, more: Partial<ApiRequest> = {}): ApiRequest =>
  ({ method: 'GET', isWebSocket: false, header: (name: string) => headers[name], ...more }) as ApiRequest; // nothing else is asked

/** The response for a request, as its client gets it. */
const ask = (request: ApiRequest, given: ApiResponse | Promise<ApiResponse> = answer) =>
  answerRequests(
    {
      clock,
      allowedOrigin: isAllowed,
      measures: { record: () => {} },
      requestLog: { logsAll: false, ended: () => {} },
      report: () => {},
    },
    () => given,
  )({ request, latency: new LatencyTracker(clock) });

test('pages of an allowed origin may read responses', async () => {
  const shared = {
    ...answer,
    headers: expect.objectContaining({ 'audit-id': 'a', 'access-control-allow-origin': 'https://board.example' }),
  };
  const request = asking({ origin: 'https://board.example' });
  expect(ask(request)).toEqual(shared);
  expect(await ask(request, Promise.resolve(answer))).toEqual(shared);
});

test('a preflight request is answered without authentication', () => {
  expect(ask(asking({ origin: 'https://board.example' }, { method: 'OPTIONS' }))).toMatchObject({
    status: 204,
    headers: { 'access-control-allow-headers': expect.stringContaining('Authorization') },
  });
});

test.each([{}, { origin: 'https://other.example' }, { origin: 'null' }])(
  'nothing is said of origins to %j',
  (headers) => {
    for (const method of ['GET', 'OPTIONS']) expect(ask(asking(headers, { method }))).toBe(answer);
  },
);

test.each([
  [true, { origin: 'https://board.example', host: 'api.example' }],
  [true, { origin: 'https://api.example', host: 'api.example' }],
  [true, { origin: 'https://API.example', host: 'api.example:443' }],
  [true, { origin: 'https://127.0.0.1:6443', host: '127.0.0.1:6443' }],
  [false, { origin: 'http://api.example', host: 'api.example' }],
  [false, { origin: 'https://api.example:8443', host: 'api.example' }],
  [false, { origin: 'https://api.example.evil.example', host: 'api.example' }],
  [false, { origin: 'null', host: 'null' }],
  [false, { origin: 'file://', host: '' }],
  [false, { host: 'api.example' }],
])('that a WebSocket is opened is %s for %j', (opened, headers) => {
  const check = () => requireKnownOrigin(asking(headers, { isWebSocket: true }), isAllowed);
  if (opened) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ reason: 'Forbidden', code: 403 }));
});

test.each([
  [true, {}],
  [true, { origin: 'https://api.example', host: 'api.example' }],
  [true, { origin: 'https://api.example', ':authority': 'api.example:443' }],
  [true, { origin: 'https://board.example', host: 'api.example', 'sec-fetch-site': 'cross-site' }],
  [true, { host: 'api.example', 'sec-fetch-site': 'same-origin' }],
  [true, { host: 'api.example', 'sec-fetch-site': 'none' }],
  [false, { origin: 'https://other.example', host: 'api.example' }],
  [false, { origin: 'https://other.example', ':authority': 'api.example' }],
  [false, { origin: 'null', host: 'api.example' }],
  [false, { origin: '', host: 'api.example' }],
  [false, { host: 'api.example', 'sec-fetch-site': 'cross-site' }],
  [false, { host: 'api.example', 'sec-fetch-site': 'same-site' }],
])('that a write is accepted is %s for %j', (accepted, headers) => {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND']) {
    const check = () => requireKnownOrigin(asking(headers, { method }), isAllowed);
    if (accepted) expect(check).not.toThrow();
    else expect(check).toThrow(expect.objectContaining({ reason: 'Forbidden', code: 403 }));
  }
});

test.each(['GET', 'HEAD'])('a %s changes nothing and may come from anywhere', (method) => {
  const headers = { origin: 'https://other.example', host: 'api.example', 'sec-fetch-site': 'cross-site' };
  expect(() => requireKnownOrigin(asking(headers, { method }), isAllowed)).not.toThrow();
});
