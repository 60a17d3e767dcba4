import { callUntil } from '@cluster-apiserver/base';
import { expect, test } from '@jest/globals';
import { createPathAuthorizer, PathPatternError, compilePathPatterns } from './always-allowed-paths.ts';

const user = { name: 'system:anonymous', groups: [] };

test.each([
  [true, '/livez'],
  [true, '/readyz'],
  [true, '/public/'],
  [true, '/public/a/b'],
  [true, '/'],
  [false, '/public'],
  [false, '/livez/'],
  [false, '/livez/ping'],
  [false, '//livez'],
  [false, '/LIVEZ'],
  [false, '/livez?'],
  [false, '/livez\0'],
  [false, 'livez'],
  [false, ''],
])('that everybody may read a path is %s for %j', (allowed, path) => {
  const { authorize } = createPathAuthorizer(compilePathPatterns(['/livez', 'readyz', '/public/*', '/']));
  for (const verb of ['get', 'head'])
    expect(authorize({ user, verb, path }, callUntil(1_000))).toEqual({ verdict: allowed ? 'allow' : 'noOpinion' });
  for (const verb of ['post', 'delete', 'options', '', 'impersonate-on:user-info:get'])
    expect(authorize({ user, verb, path }, callUntil(1_000))).toEqual({ verdict: 'noOpinion' });
  const resource = { group: '', version: 'v1', resource: 'x', subresource: undefined, namespace: undefined, name: '' };
  expect(authorize({ user, verb: 'get', path, resource }, callUntil(1_000))).toEqual({ verdict: 'noOpinion' });
});

test('a single * allows every path, and an empty list allows none', () => {
  expect(compilePathPatterns(['*'])('/metrics')).toBe(true);
  expect(compilePathPatterns([])('/')).toBe(false);
});

test.each(['/a*b', '**', '/*/b'])('%j is no pattern', (pattern) => {
  expect(() => compilePathPatterns([pattern])).toThrow(PathPatternError);
});
