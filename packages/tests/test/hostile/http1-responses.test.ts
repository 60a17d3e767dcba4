import { expect, test } from '@jest/globals';
import { parseResponses, responseFault } from './http1-responses.ts';

const read = (text: string, method?: string) => parseResponses(Buffer.from(text, 'latin1'), method);
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

test('answers are read one after the other, with and without a body', () => {
  const { answers, rest } = read(
    `HTTP/1.1 100 Continue\r\n\r\n${ok}HTTP/1.1 204 No Content\r\n\r\n${chunked}1\r\na\r\n2\r\nbc\r\n0\r\n\r\n`,
  );
  expect(answers.map(({ status, body }) => `${status} ${body}`)).toEqual(['100 ', '200 hi', '204 ', '200 abc']);
  expect(rest).toBe('nothing');
});

test('an answer to HEAD ends with its headers, unless it was refused before it was understood', () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n';
  expect(read(head, 'HEAD').rest).toBe('nothing');
  expect(read(`${head}malformed`, 'HEAD').answers[0]?.body.toString()).toBe('malformed');
});

test.each([
  ['a body that is not all there', ok.slice(0, -1)],
  ['chunks without an end', `${chunked}1\r\na\r\n`],
])('%s has begun', (_, text) => {
  expect(read(text).rest).toBe('begun');
});

test.each([
  ['bytes behind an answer', `${ok}x`],
  ['no HTTP', 'hello'],
  ['a head that is not all there', 'HTTP/1.1 200 OK\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'],
  ['a bare line feed in a header', 'HTTP/1.1 200 OK\r\nContent-Length: 0\nX: y\r\n\r\n'],
  ['a body whose length nobody tells', 'HTTP/1.1 200 OK\r\n\r\nhi'],
  ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: +2\r\n\r\nhi'],
  ['two ways to tell the length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nhi'],
  ['a chunk longer than it says', `${chunked}1\r\nab\r\n0\r\n\r\n`],
])('%s is something else', (_, text) => {
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
] as const)('it is %s to answer %i as %s: %s', (_, status, type, body, fault) => {
  expect(responseFault(status, type, Buffer.from(body)) !== undefined).toBe(fault);
});
