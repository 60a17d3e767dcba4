import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { openPipeline } from '../test/open-pipeline.ts';
import { robotKind, robotKindAlone } from '../test/robots.ts';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

describe('paths', () => {
  test.each([
    ['GET', '/hello', 200],
    ['GET', '/hello/', 404],
    ['GET', '/HELLO', 404],
    ['POST', '/hello', 405],
    ['GET', '/hello%20', 404],
    ['GET', '/%68ello', 200],
    ['GET', '/nope', 404],
    ['GET', '/api/v1/gadgets', 404],
    ['GET', '/api/v9/namespaces/n/robots', 404],
    ['GET', '/apis/notes.example/v1/namespaces/n/notes', 200],
    ['GET', '/apis/notes.example/v1/namespaces/n/robots', 404],
    ['GET', '/api/v1/namespaces/n/notes', 404],
    ['GET', '/api/v1/robots/a', 404],
    ['GET', `${robots}/a/gadget`, 404],
    ['GET', `${robots}/a/token`, 405],
    ['POST', '/api/v1/watch/namespaces/n/robots/a/token', 404],
    ['GET', `${robots}/a/token/x`, 404],
    ['HEAD', robots, 405],
    ['OPTIONS', robots, 405],
    ['constructor', robots, 405],
    ['PUT', robots, 405],
    ['POST', '/api/v1/robots', 405],
    ['POST', '/api/v1/watch/namespaces/n/robots', 405],
    ['GET', '/api/v1/namespaces/%2e%2e/robots/a', 400],
    ['GET', '/api/v1/namespaces/./robots', 400],
    ['GET', `${robots}/%2e%2e`, 400],
    ['GET', `${robots}/%00`, 404],
    ['GET', `${robots}/%ff`, 404],
    ['GET', `${robots}/%`, 400],
  ])('%s %s returns %i', async (method, target, code) => {
    const { status } = await ask(method, target);
    expect(pipeline.reportedErrors).toEqual([]);
    expect(status).toBe(code);
  });

  test.each([
    ['GET', '/api/v9', 'application/json'],
    ['GET', '/api/v9/robots', 'application/json'],
    ['GET', '/apis/notes.example/v9', 'application/json'],
    ['POST', '/apis/notes.example/v9/', 'application/json'],
    ['GET', '/apis/notes.example/v9/notes', 'application/json'],
    ['GET', '/apis/other.example/v1', 'text/plain'],
    ['GET', '/apis/other.example/v1/notes', 'text/plain'],
    ['GET', '/apis//v9', 'text/plain'],
    ['GET', '/nope/v9', 'text/plain'],
  ])('%s %s is not found, with a Status only in served groups: %s', async (method, target, type) => {
    const { status, headers } = await ask(method, target);
    expect([status, headers['content-type']]).toEqual([404, expect.stringContaining(type)]);
  });
});

describe.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'])(
  'the name %s, which objects of JavaScript have,',
  (name) => {
    test.each([
      ['GET', `/api/v1/${name}`],
      ['GET', `/api/v1/namespaces/n/${name}`],
      ['GET', `/api/v1/namespaces/n/${name}/a`],
      ['GET', `/api/${name}/robots`],
      ['GET', `/apis/${name}/v1/robots`],
      ['GET', `/apis/machines.example/${name}/machines`],
      ['GET', `${robots}/a/${name}`],
      ['POST', `${robots}/a/${name}`],
      ['PATCH', `${robots}/a/${name}`],
      ['GET', `/${name}`],
      ['GET', `/broken/${name}/x`],
      [name, robots],
      [name, '/hello'],
    ])('is found nowhere by %s %s', async (method, target) => {
      await make('a');
      expect([404, 405]).toContain((await ask(method, target)).status);
      expect(pipeline.reportedErrors).toEqual([]);
    });

    test.each([
      ['GET', `${robots}?${name}=x`, {}, 200],
      ['GET', `${robots}?pretty=${name}`, {}, 200],
      // No label begins with an underscore.
      ['GET', `${robots}?labelSelector=${name}%3D${name}`, {}, name.startsWith('_') ? 400 : 200],
      ['GET', `${robots}?fieldSelector=${name}%3Dx`, {}, 400],
      ['GET', `${robots}?resourceVersionMatch=${name}&resourceVersion=1`, {}, 422],
      ['GET', `${robots}?continue=${name}`, {}, 400],
      ['GET', `${robots}?includeObject=${name}`, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }, 400],
      ['GET', robots, { accept: name }, 406],
      ['GET', robots, { accept: `application/${name}` }, 406],
      ['GET', robots, { accept: `application/json;as=${name};g=meta.k8s.io;v=v1` }, 406],
      ['GET', robots, { accept: `application/json;as=Table;g=${name};v=v1` }, 406],
      ['GET', robots, { accept: `application/json;as=Table;g=meta.k8s.io;v=${name}` }, 406],
      ['GET', robots, { accept: `application/json;${name}=${name}` }, 200],
      ['GET', robots, { 'accept-encoding': name, origin: name, 'audit-id': name, 'user-agent': name }, 200],
      ['POST', robots, { 'content-type': name }, 415],
      ['POST', robots, { 'content-type': `application/${name}` }, 415],
      ['POST', `${robots}?fieldValidation=${name}`, {}, 422],
      ['POST', `${robots}?dryRun=${name}`, {}, 422],
      ['PATCH', `${robots}/a`, { 'content-type': name }, 415],
      ['PATCH', `${robots}/a`, { 'content-type': `application/${name}` }, 415],
      ['DELETE', `${robots}/a?propagationPolicy=${name}`, {}, 422],
      ['DELETE', `${robots}/${name}`, {}, 404],
    ] as const)('means nothing in %s %s with %j', async (method, target, headers, status) => {
      await make('a');
      const body = method === 'POST' ? JSON.stringify({ metadata: { name: 'b' } }) : '';
      expect((await ask(method, target, { body, headers })).status).toBe(status);
      expect(pipeline.reportedErrors).toEqual([]);
    });
  },
);

describe('a request whose kind is replaced meanwhile', () => {
  test.each(['/a', '', '/a?resourceVersion=0'])('reads %p from the new one', async (name) => {
    const { ask: send, api, close } = await openPipeline({ kinds: [robotKind] });
    try {
      await send('POST', robots, { body: Buffer.from('{"metadata":{"name":"a"}}') });
      const reading = send('GET', `${robots}${name}`);
      const replaced = api.replace(robotKindAlone);
      const afterwards = send('GET', `${robots}${name}`);
      await replaced;
      expect([(await reading).status, (await afterwards).status]).toEqual([200, 200]);
    } finally {
      await close();
    }
  });

  test('has not written', async () => {
    const { ask: send, api, store, close } = await openPipeline({ kinds: [robotKind] });
    try {
      await send('POST', robots, { body: Buffer.from('{"metadata":{"name":"a"}}') });
      const before = await store.readLatestRevision(call);
      const patching = send('PATCH', `${robots}/a`, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: Buffer.from('{"arms":2}'),
      });
      await api.replace(robotKindAlone);
      const { status } = await patching;
      const changes = (await store.readLatestRevision(call)) - before;
      expect([status, changes]).toEqual(status === 200 ? [200, 1] : [503, 0]);
    } finally {
      await close();
    }
  });
});

const call = callUntil(Number.POSITIVE_INFINITY);
