import { describe, expect, test } from '@jest/globals';
import { StatusError } from '@cluster-apiserver/model';
import { readBoolean, readInteger, parseRequestInfo } from './request-info.ts';

describe('the request info is parsed from method and target', () => {
  test.each([
    ['GET', '/api/v1/namespaces/a/events', 'list', { group: '', version: 'v1', plural: 'events', namespace: 'a' }],
    ['GET', '/api/v1/namespaces/a/events/', 'list', { plural: 'events', namespace: 'a', name: undefined }],
    ['GET', '/api/v1/namespaces/a/events/e', 'get', { name: 'e' }],
    ['GET', '/api/v1/events?watch', 'watch', { namespace: undefined, plural: 'events' }],
    ['GET', '/api/v1/events?watch=false', 'list', {}],
    ['GET', '/api/v1/watch/namespaces/a/events/e', 'watch', { namespace: 'a', name: 'e', isWatchPath: true }],
    ['POST', '/api/v1/namespaces/a/serviceaccounts', 'create', {}],
    ['PUT', '/api/v1/namespaces/a/serviceaccounts/s', 'update', {}],
    ['PATCH', '/api/v1/namespaces/a/serviceaccounts/s', 'patch', {}],
    ['DELETE', '/api/v1/namespaces/a/serviceaccounts/s', 'delete', {}],
    ['DELETE', '/api/v1/namespaces/a/serviceaccounts', 'deletecollection', {}],
    ['POST', '/api/v1/namespaces/a/serviceaccounts/s/token', 'create', { name: 's', subresource: 'token' }],
    [
      'GET',
      '/apis/x.y/v2/namespaces/a/things/t/s/more',
      'get',
      { group: 'x.y', version: 'v2', hasExtraSegments: true },
    ],
    ['GET', '/api/v1/namespaces//events', 'list', { namespace: undefined, plural: 'events' }],
    ['GET', '/api/v1/namespaces/a//events', 'get', { plural: '', name: 'events' }],
    ['GET', '/api/v1/namespaces/%61/events/%70od%2E1', 'get', { namespace: 'a', name: 'pod.1' }],
    ['GET', '/api/v1/namespaces/a/events/a%2Fb', 'get', { name: 'a', subresource: 'b' }],
    ['GET', '/api/v1/namespaces', 'list', { plural: 'namespaces', namespace: undefined, isInNamespace: false }],
    ['GET', '/api/v1/namespaces/a', 'get', { plural: 'namespaces', name: 'a', namespace: 'a', isInNamespace: false }],
    ['GET', '/api/v1/watch/namespaces/a', 'watch', { plural: 'namespaces', name: 'a', isInNamespace: false }],
    ['PUT', '/api/v1/namespaces/a/finalize', 'update', { plural: 'namespaces', name: 'a', subresource: 'finalize' }],
    ['PATCH', '/api/v1/namespaces/a/status', 'patch', { plural: 'namespaces', name: 'a', subresource: 'status' }],
    ['GET', '/api/v1/namespaces/a/status/more', 'get', { plural: 'namespaces', hasExtraSegments: true }],
    ['HEAD', '/api/v1/namespaces/a/events', 'list', {}],
    ['HEAD', '/api/v1/namespaces/a/events/e', 'get', {}],
    ['OPTIONS', '/api/v1/namespaces/a/events', '', {}],
    ['BREW', '/api/v1/namespaces/a/events/e', '', {}],
    ['GET', '/api/v1/namespaces/status/events', 'list', { plural: 'events', namespace: 'status', isInNamespace: true }],
  ])('%s %s is %s', (method, target, verb, resource) => {
    const info = parseRequestInfo(method, target);
    expect(info.verb).toBe(verb);
    expect(info.resource).toMatchObject(resource);
  });

  test.each([
    '/',
    '/nope',
    '/api',
    '/api/v1',
    '/apis',
    '/apis/x.y',
    '/apis/x.y/v1/',
    '/apis//v1/events',
    '/apis//v1/namespaces/a/events/e',
    '//api/v1/events',
    '/API/v1/events',
    '',
  ])('%j is no resource', (target) => {
    expect(parseRequestInfo('GET', target).resource).toBeUndefined();
  });

  test('invalid UTF-8 matches no name, and invalid percent-encoding is a fault', () => {
    expect(parseRequestInfo('GET', '/api/v1/namespaces/a/events/%ff').resource?.name).toBe('\ufffd');
    for (const target of ['/api/v1/%', '/api/v1/%zz', '/api/v1/%e'])
      expect(parseRequestInfo('GET', target)).toMatchObject({
        path: target,
        verb: 'get',
        resource: undefined,
        fault: { code: 400, message: 'the path has an invalid percent-encoding' },
      });
  });
});

test.each([
  ['', undefined],
  ['w', true],
  ['w=', true],
  ['w=banana', true],
  ['w=0', false],
  ['w=FALSE', false],
  ['w=false&w=true', false],
])('the flag in %j is %s', (query, value) => {
  expect(readBoolean(new URLSearchParams(query), 'w')).toBe(value);
});

test.each([
  ['', undefined],
  ['n=7', 7],
  ['n=-7', -7],
  ['n=%2B7', 7],
  ['n=0000000000000000000000007', 7],
  ['n=9007199254740993', 2 ** 53],
  ['n=9223372036854775807', 2 ** 63],
  ['n=-9223372036854775808', -(2 ** 63)],
])('the number in %j is %s', (query, value) => {
  expect(readInteger(new URLSearchParams(query), 'n')).toBe(value);
});

test.each([
  'n=',
  'n=1.5',
  'n=many',
  'n=0x10',
  'n=9999999999999999999999',
  'n=9223372036854775808',
  'n=-9223372036854775809',
  'n= 7',
])('%j holds no number', (query) => {
  expect(() => readInteger(new URLSearchParams(query), 'n')).toThrow(StatusError);
});

test.each([
  ['/x?a=1&b=%zz&c=3', 'b', ['a', 'c']],
  ['/api/v1/namespaces/n/events?dryRun=%', 'dryRun', []],
  ['/x?=%f', '', []],
  ['/x?dry%Run=All', 'dry%Run', []],
  [`/x?${'a'.repeat(100)}%=1`, 'a'.repeat(64), []],
])('a parameter with invalid percent-encoding is a fault: %s', (target, name, others) => {
  const { query, fault } = parseRequestInfo('GET', target);
  expect(fault).toMatchObject({
    code: 400,
    message: `the query parameter "${name}" has an invalid percent-encoding`,
  });
  expect([...query.keys()]).toEqual(others);
});

test('invalid UTF-8 in a query reads as replacement characters', () => {
  const { query, fault } = parseRequestInfo('GET', '/x?a=%c3%28');
  expect([query.get('a'), fault]).toEqual(['\ufffd(', undefined]);
});
