import { expect, test } from '@jest/globals';
import { performHandshake, isWebSocketUpgrade } from './handshake.ts';

const headers = {
  connection: 'keep-alive, Upgrade',
  upgrade: 'WebSocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const opening = (more: object = {}) => ({ method: 'GET', httpVersion: '1.1', headers: { ...headers, ...more } });
const bearer = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
const asking = (protocols: string) => performHandshake(opening({ 'sec-websocket-protocol': protocols }));

test('the accept key is that of the RFC', () => {
  expect(performHandshake(opening())).toEqual({
    headers: { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Accept': 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=' },
    bearerToken: undefined,
    protocols: [],
  });
});

test('the first subprotocol is selected, and never the token', () => {
  expect(asking(`${bearer('sésame')}, base64.binary.k8s.io,other`)).toMatchObject({
    headers: { 'Sec-WebSocket-Protocol': 'base64.binary.k8s.io' },
    bearerToken: 'sésame',
    protocols: ['base64.binary.k8s.io', 'other'],
  });
});

test.each([
  ['alone, so that no protocol could be answered', bearer('a')],
  ['twice', `${bearer('a')}, ${bearer('b')}, x`],
  ['empty', 'base64url.bearer.authorization.k8s.io., x'],
  ['in another alphabet', 'base64url.bearer.authorization.k8s.io.a+b, x'],
  ['that is no text', `base64url.bearer.authorization.k8s.io.${Buffer.from([0xff]).toString('base64url')}, x`],
])('a token %s is refused', (_, protocols) => {
  expect(asking(protocols)).toBe('token');
});

test.each([
  ['version', { 'sec-websocket-version': '8' }],
  ['version', { 'sec-websocket-version': undefined }],
  ['key', { 'sec-websocket-key': undefined }],
  ['key', { 'sec-websocket-key': 'short' }],
  ['protocol', { 'sec-websocket-protocol': 'with space' }],
  ['protocol', { 'sec-websocket-protocol': 'quo"te' }],
])('a wrong %s is refused', (fault, more) => {
  expect(performHandshake(opening(more))).toBe(fault);
});

test.each([
  [true, {}],
  [false, { upgrade: 'h2c' }],
  [false, { upgrade: undefined }],
  [false, { connection: 'keep-alive' }],
  [false, { 'content-length': '3' }],
  [false, { 'transfer-encoding': 'chunked' }],
])('that a WebSocket is opened is %s with %j', (opens, more) => {
  expect(isWebSocketUpgrade(opening(more))).toBe(opens);
});

test('only GET and HTTP/1.1 open one', () => {
  expect(isWebSocketUpgrade({ ...opening(), method: 'POST' })).toBe(false);
  expect(isWebSocketUpgrade({ ...opening(), httpVersion: '1.0' })).toBe(false);
});
