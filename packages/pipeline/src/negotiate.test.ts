import { expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import type { ApiRequest } from './exchange.ts';
import { errorForm, negotiated } from './negotiate.ts';
import { warningHeaders } from './warnings.ts';

const by = (headers: Record<string, string>): ApiRequest =>
  ({ header: (name: string) => headers[name] }) as unknown as ApiRequest;
const query = (text: string): URLSearchParams => new URLSearchParams(text);

test.each([
  [undefined, 'json'],
  ['*/*', 'json'],
  ['application/*', 'json'],
  ['application/json', 'json'],
  ['application/json;charset=utf-8', 'json'],
  ['application/yaml', 'yaml'],
  ['application/json;q=0.1, application/yaml', 'yaml'],
  ['application/yaml;q=0, application/json', 'json'],
  ['application/vnd.kubernetes.protobuf,application/json', 'json'],
  ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'json'],
  ['text/html, */*;q=0.8', 'json'],
])('Accept: %s gives %s', (accept, form) => {
  expect(negotiated(by(accept === undefined ? {} : { accept }), query(''))).toBe(form);
});

test.each([
  'image/png',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;q=0',
  'application/vnd.kubernetes.protobuf',
  '',
  ',',
])('Accept: %j is refused, and the refusal is readable', (accept) => {
  expect(() => negotiated(by({ accept }), query(''))).toThrow(StatusError);
  expect(errorForm(by({ accept }), query(''))).toBe('prettyJson');
});

test.each([
  ['curl/8.0', '', 'prettyJson'],
  ['Mozilla/5.0', '', 'prettyJson'],
  ['Wget/1.2', '', 'prettyJson'],
  ['kubectl/v1.36', '', 'json'],
  ['curl/8.0', 'pretty=false', 'json'],
  ['kubectl/v1.36', 'pretty=true', 'prettyJson'],
  ['kubectl/v1.36', 'pretty=1', 'prettyJson'],
  ['kubectl/v1.36', 'pretty=yes', 'json'],
])('%s with %j gets %s', (agent, search, form) => {
  expect(negotiated(by({ 'user-agent': agent }), query(search))).toBe(form);
});

test('a warning cannot end its header, and many long ones are cut', () => {
  expect(warningHeaders(new Set(['say "x"\r\nSet-Cookie: a']))).toEqual(['299 - "say \\"x\\"  Set-Cookie: a"']);
  const many = warningHeaders(new Set(Array.from({ length: 100 }, (_, i) => `${i}${'w'.repeat(1000)}`)));
  expect(many.length).toBe(16);
  expect(many.every((value) => value.length < 300)).toBe(true);
});
