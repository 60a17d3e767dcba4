import { describe, expect, test } from '@jest/globals';
import { robots, usePipeline } from '../test/use-pipeline.ts';
import { parametersOf } from './endpoints/parameters.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

const listed = async (): Promise<readonly string[]> =>
  (await ask('GET', robots)).json().items.map(({ metadata }) => metadata.name);

describe('a parameter that cannot be decoded is an error and never dropped', () => {
  const object = JSON.stringify({ metadata: { name: 'a' }, arms: 7 });
  const patch = { body: '{"arms":7}', headers: { 'content-type': 'application/merge-patch+json' } };
  const applied = {
    body: JSON.stringify({ apiVersion: 'v1', kind: 'Robot', metadata: { name: 'a' }, arms: 7 }),
    headers: { 'content-type': 'application/apply-patch+yaml' },
  };
  const created = { body: JSON.stringify({ metadata: { name: 'c' } }) };

  const verbs = [
    ['GET', `${robots}/a`, {}, parametersOf.get],
    ['GET', robots, {}, parametersOf.list],
    ['GET', '/api/v1/watch/namespaces/n/robots', {}, parametersOf.list],
    ['POST', robots, created, parametersOf.write],
    ['PUT', `${robots}/a`, { body: object }, parametersOf.write],
    ['PATCH', `${robots}/a`, patch, parametersOf.patch],
    ['PATCH', `${robots}/a?fieldManager=m`, applied, parametersOf.patch],
    ['DELETE', `${robots}/a`, {}, parametersOf.delete],
    ['DELETE', robots, {}, parametersOf.deleteCollection],
    ['GET', '/hello', {}, parametersOf.get],
  ] as const;
  const faults = ['%', '%zz', 'All%', '%2', 'team%3Da%', '%c3%2'];

  test.each(verbs)('%s %s', async (method, path, message, known) => {
    await make('a', { metadata: { name: 'a', labels: { team: 'a' } }, arms: 2 });
    await make('b');
    for (const name of [...known.map((parameter) => parameter.name), 'timeout', 'unknown'])
      for (const fault of faults) {
        const answer = await ask(method, `${path}${path.includes('?') ? '&' : '?'}${name}=${fault}`, message);
        expect([name, fault, answer.status, answer.json().message]).toEqual([
          name,
          fault,
          400,
          `the query parameter "${name}" has an invalid percent-encoding`,
        ]);
      }
    expect(await listed()).toEqual(['a', 'b']);
    expect((await ask('GET', `${robots}/a`)).json()).toMatchObject({ arms: 2 });
  });

  test('also of a request that is not authenticated, and of a path', async () => {
    expect((await ask('GET', `${robots}?x=%`, { headers: { authorization: undefined } })).status).toBe(400);
    expect((await ask('GET', `${robots}/%zz`)).json().message).toBe('the path has an invalid percent-encoding');
  });

  test('it is audited and counted like others', async () => {
    await ask('DELETE', `${robots}?audited&labelSelector=%`);
    await ask('DELETE', `${robots}/%zz?audited`);
    expect(pipeline.recorded).toEqual(['status 400', 'status 400']);
    expect(pipeline.counted).toEqual([
      { verb: 'deletecollection', code: 400 },
      { verb: 'delete', code: 400 },
    ]);
  });
});

describe('a value that is none of a parameter deletes and changes nothing', () => {
  test.each([
    // Invalid UTF-8 reads as replacement characters, which are no value and match nothing.
    ['dryRun=%c3%28', 422],
    ['dryRun=all', 422],
    ['dryRun', 422],
    ['propagationPolicy=%c3%28', 422],
    ['propagationPolicy=sideways', 422],
    ['gracePeriodSeconds=%c3%28', 400],
    ['gracePeriodSeconds=', 400],
    ['ignoreStoreReadErrorWithClusterBreakingPotential=%c3%28', 400],
    ['ignoreStoreReadErrorWithClusterBreakingPotential=maybe', 400],
    ['labelSelector=team%3D%c3%28', 400],
    ['fieldSelector=metadata.name%3D%c3%28', 200],
    ['limit=%c3%28', 400],
    ['continue=%c3%28', 400],
    ['resourceVersion=%c3%28', 400],
    ['timeoutSeconds=%c3%28', 400],
  ])('DELETE ?%s is %i', async (search, status) => {
    await make('a');
    expect((await ask('DELETE', `${robots}?${search}`)).status).toBe(status);
    expect(await listed()).toEqual(['a']);
  });

  test.each([
    ['dryRun=%c3%28', 422],
    ['fieldValidation=%c3%28', 422],
    ['fieldValidation=strict', 422],
  ])('POST ?%s is %i', async (search, status) => {
    const body = JSON.stringify({ metadata: { name: 'a' } });
    expect((await ask('POST', `${robots}?${search}`, { body })).status).toBe(status);
    expect(await listed()).toEqual([]);
  });
});
