import { describe, expect, test } from '@jest/globals';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

/** A selector as authorizers receive it. */
const requiring = (key: string, value: string): object => ({
  requirements: [{ key, operator: 'In', values: [value] }],
});

describe('rejected callers', () => {
  const everyRoute = [
    ['GET', robots],
    ['POST', robots],
    ['DELETE', robots],
    ['GET', `${robots}/a`],
    ['PUT', `${robots}/a`],
    ['PATCH', `${robots}/a`],
    ['POST', `${robots}/a/token`],
    ['DELETE', `${robots}/a`],
    ['GET', '/api/v1/robots'],
    ['GET', '/api/v1/watch/robots'],
    ['GET', '/hello'],
    ['GET', '/nowhere'],
    ['POST', '/apis/x/v1/y'],
  ] as const;
  test.each(everyRoute)(
    '%s %s is refused without authentication and without authorization, and does not reveal what exists',
    async (method, target) => {
      await make('a');
      pipeline.bodiesRead = 0;
      for (const [caller, code] of [
        [undefined, 401],
        ['nobody', 401],
        ['visitor', 403],
      ] as const) {
        const here = await ask(method, target, { headers: { authorization: caller }, body: '{}' });
        const elsewhere = await ask(method, target.replace(/\/a(?=$|\/token)/, '/b'), {
          headers: { authorization: caller },
          body: '{}',
        });
        expect(here.status).toBe(code);
        expect(elsewhere.text.replaceAll('b', 'a')).toBe(here.text.replaceAll('b', 'a'));
      }
      expect(pipeline.bodiesRead).toBe(0);
    },
  );

  test.each([
    ['PUT', '/apis/notes.example/v1/namespaces/n/notes/n1', { metadata: { name: 'n1' } }, 'notes.notes.example "n1"'],
    [
      'PATCH',
      `${robots}/r1?fieldManager=m`,
      { apiVersion: 'v1', kind: 'Robot', metadata: { name: 'r1' } },
      'robots "r1"',
    ],
  ])('%s of a missing object requires the verb create', async (method, target, fields, name) => {
    const content = method === 'PUT' ? 'application/json' : 'application/apply-patch+yaml';
    const said = { body: JSON.stringify(fields), headers: { 'content-type': content } };
    const byEditor = { ...said, headers: { ...said.headers, authorization: 'editor' } };
    const refused = await ask(method, target, byEditor);
    expect([refused.status, refused.json().reason]).toEqual([403, 'Forbidden']);
    expect(refused.json().message).toContain(`${name} is forbidden: User "e" cannot create resource`);
    expect((await ask(method, target, said)).status).toBe(201);
    expect((await ask(method, target, byEditor)).status).toBe(200);
  });

  test('authorization that is not ready returns 503 with Retry-After', async () => {
    for (const headers of [{ authorization: 'early' }, { authorization: 'early', 'impersonate-user': 'bob' }]) {
      const response = await ask('GET', robots, { headers });
      expect([response.status, response.json().reason]).toEqual([503, 'ServiceUnavailable']);
      expect(response.headers['retry-after']).toBe('1');
    }
  });

  test.each([
    ['GET', `${robots}?fieldSelector=metadata.name%3Da`, { name: 'a', fieldSelector: requiring('metadata.name', 'a') }],
    ['GET', `${robots}?watch=1&fieldSelector=arms%3D1,metadata.name%3D%3Da`, { name: 'a' }],
    ['GET', `${robots}?fieldSelector=metadata.name!%3Da`, { name: undefined }],
    ['GET', `${robots}?fieldSelector=arms%3D%5C,metadata.name%3Da`, { name: undefined }],
    ['GET', `${robots}?fieldSelector=metadata.name%3D..`, { name: undefined }],
    ['GET', `${robots}?labelSelector=a%3Db`, { name: undefined, labelSelector: requiring('a', 'b') }],
    [
      'DELETE',
      `${robots}?fieldSelector=metadata.name%3Da`,
      { name: undefined, fieldSelector: requiring('metadata.name', 'a') },
    ],
    ['GET', `${robots}/b?fieldSelector=metadata.name%3Da`, { name: 'b' }],
  ])('%s %s is authorized for what it selects', async (method, target, resource) => {
    await ask(method, target, { headers: { authorization: 'visitor' } });
    expect(pipeline.asked[0]?.attributes.resource).toMatchObject(resource);
  });

  test('a Forbidden message names the user, verb and resource', async () => {
    const refused = await ask('GET', `${robots}/a`, { headers: { authorization: 'visitor' } });
    expect(refused.json()).toMatchObject({
      reason: 'Forbidden',
      message:
        'robots "a" is forbidden: User "v" cannot get resource "robots" in API group "" in the namespace "n": no rule',
    });
  });
});
