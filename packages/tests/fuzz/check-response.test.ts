import { describe, expect, test } from '@jest/globals';
import type { Request } from '../test/hostile/requests.ts';
import type { Response } from './input.ts';
import { errorLines, faultOf, signatureOf } from './check-response.ts';
import { growthFaults } from './server.ts';
import { webSocketFaults } from './web-socket-connection.ts';

const request = (target = '/api/v1/events'): Request => ({ method: 'GET', target, headers: [], body: undefined });
const response = (status: number, body: string, more: Partial<Response> = {}, type = 'application/json'): Response => ({
  status,
  fields: [['content-type', type]],
  body: Buffer.from(body),
  isWhole: true,
  ...more,
});
const status = (code: number): string => JSON.stringify({ kind: 'Status', apiVersion: 'v1', code });

test.each([
  ['an object', response(200, '{"kind":"Event"}'), request()],
  ['a Status', response(404, status(404)), request()],
  ['watch events, one per line', response(200, '{"type":"ADDED"}\n{"type":"ADDED"}\n'), request()],
  ['an endless stream', response(200, '{"type":', { isWhole: false }), request('/x?watch=1')],
  ['a timeout that the client requested', response(504, status(504)), request('/x?timeout=1ns')],
  ['no body', response(304, '', { fields: [] }), request()],
])('%s is not a fault', (_, given, sent) => {
  expect(faultOf(sent, given)).toBeUndefined();
});

test.each([
  ['an internal error', response(500, status(500)), 'status 500'],
  ['an internal error in gzip', response(500, 'x', { fields: [['content-encoding', 'gzip']] }), 'status 500'],
  ['a service that is unavailable', response(503, status(503)), 'status 503'],
  ['a timeout that the client did not request', response(504, status(504)), 'status 504'],
  ['a Status with another code', response(404, status(400)), 'without a Status'],
  ['an error in plain text', response(400, 'bad', {}, 'text/plain'), 'without a Status'],
  ['malformed JSON', response(200, '{"a":'), 'malformed JSON'],
  ['a body without a content type', response(200, 'x', { fields: [] }), 'of no type'],
  [
    'a body shorter than declared',
    response(200, '{}', {
      fields: [
        ['content-type', 'application/json'],
        ['content-length', '9'],
      ],
    }),
    'content-length 9',
  ],
  ['a header with a line feed', response(200, '{}', { fields: [['x', 'a\nb']] }), 'header'],
  ['an invalid status', response(99, '{}'), 'status 99'],
  ['no status at all', response(Number.NaN, '{}'), 'status NaN'],
  ['an unfinished error response', response(400, '', { isWhole: false }), 'without an end'],
])('%s is a fault', (_, given, fault) => {
  expect(faultOf(request(), given)).toContain(fault);
});

test('faults that differ only in numbers have one signature', () => {
  expect(signatureOf('status 500: object n17 at 3')).toBe(signatureOf('status 500: object n2 at 99'));
  expect(signatureOf('status 500: a')).not.toBe(signatureOf('status 500: b'));
});

test.each([
  ['E0101 00:00:00.000000    4711 server] "a request failed"', 1],
  ['TypeError: x is not a function', 1],
  ['    at serve (listener.js:1:1)', 1],
  ['(node:1) MaxListenersExceededWarning: Possible leak', 1],
  ['Uncaught exception', 1],
  ['I0101 00:00:00.000000    4711 server] "serving"', 0],
  ['E0101 00:00:00.000000    4711 health] "health check failed" check="etcd" err="x"', 0],
])('the log line %j counts %i times', (line, times) => {
  expect(errorLines(`first\n${line}\nlast`)).toHaveLength(times);
});

describe('a process at rest', () => {
  const before = { residentMiB: 200, descriptors: 25 };
  test.each([
    ['is unchanged', { residentMiB: 250, descriptors: 27 }, []],
    ['retains memory', { residentMiB: 400, descriptors: 25 }, ['memory grew by 200 MiB']],
    ['retains sockets', { residentMiB: 200, descriptors: 125 }, ['100 descriptors are still open']],
  ])('that %s', (_, after, faults) => {
    expect(growthFaults(before, after, 100)).toEqual(faults);
  });
});

describe('a WebSocket', () => {
  const opened = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n';
  const refused = `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${status(403).length}\r\n\r\n${status(403)}`;
  test.each([
    ['is opened', `${opened}\x81\x02{}\x88\x02\x03\xe8`, 0],
    ['is refused', refused, 0],
    ['ends within a message', `${opened}\x81\x7e\x01`, 0],
    ['is refused with an internal error', refused.replaceAll('403', '500'), 1],
    ['sends a masked frame', `${opened}\x81\x80abcd`, 1],
    ['sends a frame with an unknown opcode', `${opened}\x83\x00`, 1],
    ['sends an oversized control frame', `${opened}\x89\x7e\x00\x80`, 1],
    ['does not send HTTP', 'hello', 1],
  ])('that %s', (_, received, faults) => {
    expect(webSocketFaults(Buffer.from(received, 'latin1'))).toHaveLength(faults);
  });
});
