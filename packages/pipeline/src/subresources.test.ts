import { describe, expect, test } from '@jest/globals';
import { parseProtobuf } from '@cluster-apiserver/model/codec';
import { token } from '../test/robots.ts';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

describe('a subresource', () => {
  const behind = `${robots}/a/token`;
  const asked = (request: object, headers = {}) => ask('POST', behind, { body: JSON.stringify(request), headers });

  test('is created from the object, with its name and namespace, and is not stored', async () => {
    const { uid } = (await make('a')).json().metadata;
    const answer = await asked({ spec: { words: { a: 'b' } } });
    expect(answer.status).toBe(201);
    expect(answer.headers.warning).toEqual(['299 - "think twice"']);
    expect(answer.json()).toEqual({
      kind: 'Token',
      apiVersion: 'tokens.example/v3',
      metadata: { name: 'a', namespace: 'n' },
      spec: { words: { a: 'b', of: uid } },
    });
    expect((await ask('GET', '/api/v1/robots')).json().items).toHaveLength(1);
  });

  test('returns the format that the client accepts', async () => {
    await make('a');
    const binary = await asked({}, { accept: 'application/vnd.kubernetes.protobuf' });
    expect(parseProtobuf(binary.bytes as Buffer, () => token.schema).value).toMatchObject({ metadata: { name: 'a' } });
    expect((await asked({}, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })).status).toBe(406);
  });

  test('is not found when the object is not', async () => {
    expect((await asked({})).json().message).toBe('robots "a" not found');
  });

  test.each([
    [{ metadata: { name: 'b' } }, '', 422, 'metadata.name'],
    [{ metadata: { namespace: 'm' } }, '', 400, 'namespace of the provided object'],
    [{ kind: 'Robot' }, '', 400, 'Robot'],
    [{ spec: { color: 1 } }, '?fieldValidation=Strict', 400, 'spec.color'],
    [{ spec: [] }, '', 400, 'spec'],
    [{}, '?dryRun=Some', 422, 'dryRun'],
  ])('is refused for %j%s', async (request, query, code, message) => {
    await make('a');
    const refused = await ask('POST', behind + query, { body: JSON.stringify(request) });
    expect(refused.status).toBe(code);
    expect(refused.json().message).toContain(message);
  });
});
