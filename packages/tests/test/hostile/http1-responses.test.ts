import { expect, test } from '@jest/globals';
import { parseResponses, responseFault } from './http1-responses.ts';

const read = (text: string, method?: string) => parseResponses(Buffer.from(text, 'latin1'), method);
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

test('responses are parsed one after another, with and without a body', () => {
  const { answers, rest } = read(
    `HTTP/1.1 100 Continue\r\n\r\n${ok}HTTP/1.1 204 No Content\r\n\r\n${chunked}1\r\na\r\n2\r\nbc\r\n0\r\n\r\n`,
  );
  expect(answers.map(({ status, body }) => `${status} ${body}`)).toEqual(['100 ', '200 hi', '204 ', '200 abc']);
  expect(rest).toBe('nothing');
});

test('a response to HEAD ends with its headers, unless the method was rejected before it was understood', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';
  expect(read(head, 'HEAD').rest).toBe('nothing');
  expect(read('HTTP/1.1 200 OK\r\n\r\n', 'HEAD').rest).toBe('nothing'); // of unknown length
  expect(read(`${head}malformed`, 'HEAD').answers[0]?.body.toString()).toBe('malformed');
});

test.each([
  ['an incomplete body', ok.slice(0, -1)],
  ['unfinished chunks', `${chunked}1\r\na\r\n`],
])('%s is an incomplete response', (_, text) => {
  expect(read(text).rest).toBe('begun');
});

test.each([
  ['bytes after a response', `${ok}x`],
  ['no HTTP', 'hello'],
  ['an incomplete head', 'HTTP/1.1 200 OK\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a bare line feed in a header', 'HTTP/1.1 200 OK\r\nContent-Length: 0\nX: y\r\n\r\n'],
  ['a body without a length', 'HTTP/1.1 200 OK\r\n\r\nhi'],
  ['a length that is not a number', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi'],
  [
    'both Content-Length and Transfer-Encoding',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi',
  ],
  ['a chunk that exceeds its size', `${chunked}1\r\nab\r\n0\r\n\r\n`],
])('%s is malformed', (_, text) => {
  expect(read(text).rest).toBe('something else');
});

test.each([
  ['no fault', 404, 'text/plain; charset=utf-8', '404 page not found\n', false],
  ['no fault', 400, 'application/json', '{"kind":"Status","code":400}', false],
  ['no fault', 400, 'application/yaml', 'kind: Status\ncode: 400\n', false],
  ['no fault', 504, 'application/json', '{"kind":"Status","code":504}', false],
  ['a fault', 503, 'application/json', '{"kind":"Status","code":503}', true],
  ['a fault', 500, 'application/json', '{"kind":"Status","code":500}', true],
  ['a fault', 400, 'application/json', '{"kind":"Status","code":404}', true],
  ['a fault', 400, 'text/plain', 'bad', true],
] as const)('it is %s to respond with %i as %s: %s', (_, status, type, body, fault) => {
  expect(responseFault(status, type, Buffer.from(body)) !== undefined).toBe(fault);
});
