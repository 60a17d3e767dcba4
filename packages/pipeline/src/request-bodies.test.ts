import { describe, expect, test } from '@jest/globals';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

describe('delete options', () => {
  test.each([
    ['v1', 200],
    ['meta.k8s.io/v1', 200],
    ['', 200],
    ['apps/v1', 200],
    ['zork/v9', 200],
    ['meta.k8s.io/v1/x', 400],
  ])('of the version %j are %i', async (apiVersion, status) => {
    await make('a');
    const body = { kind: 'DeleteOptions', apiVersion };
    expect((await ask('DELETE', `${robots}/a`, { body: JSON.stringify(body) })).status).toBe(status);
    expect((await ask('GET', `${robots}/a`)).status).toBe(status === 200 ? 404 : 200);
  });

  test('in several documents are refused, since those behind the first would be dropped', async () => {
    await make('a');
    const body = 'kind: DeleteOptions\n---\ndryRun: [All]\n';
    const refused = await ask('DELETE', `${robots}/a`, { body, headers: { 'content-type': 'application/yaml' } });
    expect([refused.status, refused.json().message]).toEqual([400, expect.stringContaining('more than one document')]);
    expect((await ask('GET', `${robots}/a`)).status).toBe(200);
  });
});

describe('bodies', () => {
  test.each<[string, number, string | undefined, string]>([
    ['nothing', 400, undefined, ''],
    ['half of one', 400, undefined, '{"metadata":{"name":"a"'],
    ['a list', 400, undefined, '[]'],
    ['another kind', 400, undefined, '{"kind":"Pod","metadata":{"name":"a"}}'],
    ['another version', 400, undefined, '{"apiVersion":"v9","metadata":{"name":"a"}}'],
    ['a kind that is a number', 400, undefined, '{"kind":7,"metadata":{"name":"a"}}'],
    ['null', 422, undefined, 'null'],
    ['a wrong type', 400, undefined, '{"metadata":{"name":"a"},"arms":"two"}'],
    ['an unsupported media type', 415, 'text/plain', 'x'],
    ['a form by the name of what every object has', 415, 'constructor', '{}'],
    ['YAML said to be JSON', 400, 'application/json', 'metadata:\n  name: a\n'],
    ['YAML', 201, 'application/yaml; charset=utf-8', 'metadata:\n  name: a\n'],
    ['JSON with a strange type', 201, 'Application/JSON ; x=y', '{"metadata":{"name":"a"}}'],
    ['YAML beyond its limit', 413, 'application/yaml', `a: ${'x'.repeat(600_000)}`],
    ['more than the limit', 413, undefined, `{"metadata":{"name":"a"},"x":"${'x'.repeat(3 * 1024 * 1024)}"}`],
    ['deep nesting', 400, undefined, '{"a":'.repeat(20_000)],
  ])('%s returns %i', async (_, code, type, body) => {
    expect((await ask('POST', robots, { body, headers: { 'content-type': type } })).status).toBe(code);
    expect(pipeline.reportedErrors).toEqual([]);
  });

  const doubtful = '{"metadata":{"name":"a"},"colour":{"x":1,"x":2},"arms":1,"arms":2,"words":{"__proto__":"p"}}';
  test('unknown fields cause warnings, are refused, or dropped, by fieldValidation', async () => {
    const warned = await ask('POST', robots, { body: doubtful });
    expect(warned.headers.warning).toEqual([
      '299 - "duplicate field \\"arms\\""',
      '299 - "unknown field \\"colour\\""',
    ]);
    const refused = await ask('PUT', `${robots}/a?fieldValidation=Strict`, { body: doubtful });
    expect(refused.json().message).toContain('strict decoding error: duplicate field "arms", unknown field "colour"');
    const ignored = await ask('PUT', `${robots}/a?fieldValidation=Ignore`, { body: doubtful });
    expect(ignored.headers.warning).toBeUndefined();
    expect(JSON.parse(ignored.text)).toMatchObject({ arms: 2 });
    expect(ignored.text).toContain('"words":{"__proto__":"p"}');
    expect(({} as { p?: string }).p).toBeUndefined();
  });

  test('several documents of YAML are refused by strict validation; otherwise the first counts', async () => {
    const body = 'metadata: {name: a}\n---\nmetadata: {name: b}\n';
    const post = (search: string) =>
      ask('POST', `${robots}${search}`, { body, headers: { 'content-type': 'application/yaml' } });
    const refused = await post('?fieldValidation=Strict');
    expect([refused.status, refused.json().message]).toEqual([400, expect.stringContaining('only the first document')]);
    const created = await post('');
    expect([created.status, created.headers.warning]).toEqual([201, undefined]);
  });

  test('strict validation lists all unknown and duplicate fields', async () => {
    const fields = Array.from({ length: 1_000 }, (_, i) => `"u${i}":1`);
    const refused = await ask('POST', `${robots}?fieldValidation=Strict`, {
      body: `{"metadata":{"name":"a","labels":{${'"k":"v",'.repeat(200)}"k":"v"}},${fields.join(',')}}`,
    });
    const { message } = refused.json();
    expect(message.split('unknown field "u')).toHaveLength(1_001);
    expect(message.split('duplicate field "metadata.labels')).toHaveLength(201);
  });

  test('what strict validation lists is bounded by its length, and the rest counted', async () => {
    const fields = Array.from({ length: 9_000 }, (_, i) => `"${'u'.repeat(100)}${i}":1`);
    const body = `{"metadata":{"name":"a"},${fields.join(',')}}`;
    const { message } = (await ask('POST', `${robots}?fieldValidation=Strict`, { body })).json();
    expect(message.length).toBeLessThan(70_000);
    const [, more] = /and ([0-9]+) more$/.exec(message) ?? [];
    expect(message.split('unknown field').length - 1 + Number(more)).toBe(9_000);
    const warned = await ask('POST', robots, { body });
    expect((warned.headers.warning as string[]).join('').length).toBeLessThan(8_192);
  });

  test('a duplicate in an unknown field is not listed of its own', async () => {
    const nested = `"colour":{"b":[{"x":1,"x":2}]}`;
    const { message } = (
      await ask('POST', `${robots}?fieldValidation=Strict`, {
        body: `{"metadata":{"name":"a"},${nested},"arms":1,"arms":2}`,
      })
    ).json();
    expect(message).toContain('strict decoding error: duplicate field "arms", unknown field "colour"');
  });

  test('an invalid option is refused before anything is written', async () => {
    for (const search of [
      'dryRun=Some',
      'dryRun=',
      'dryRun=All&dryRun=x',
      'fieldValidation=Loud',
      `fieldManager=${'m'.repeat(128)}`,
      'fieldManager=a%07',
    ]) {
      expect((await ask('POST', `${robots}?${search}`, { body: '{"metadata":{"name":"a"}}' })).status).toBe(422);
    }
    expect((await ask('GET', `${robots}/a`)).status).toBe(404);
  });

  test('the query supplies delete options that the body omits', async () => {
    await make('a');
    const withBody = (search: string, body: object) =>
      ask('DELETE', `${robots}/a?${search}`, { body: JSON.stringify(body) });
    expect((await withBody('dryRun=All', { kind: 'DeleteOptions' })).status).toBe(200);
    expect((await withBody('dryRun=Some', {})).status).toBe(422);
    expect((await withBody('', { preconditions: { uid: 'x' } })).status).toBe(409);
    expect((await withBody('', { gracePeriodSeconds: -1 })).status).toBe(422);
    const least = await withBody('gracePeriodSeconds=-9223372036854775808', {});
    expect([least.status, least.text]).toEqual([422, expect.stringContaining('Invalid value: -9223372036854775808:')]);
    expect((await withBody('', { kind: 'Pod' })).status).toBe(400);
    expect((await withBody('', { propagationPolicy: 7 })).status).toBe(400);
    for (const [search, body] of [
      ['orphanDependents=true', { propagationPolicy: 'Foreground' }],
      ['propagationPolicy=Foreground', { orphanDependents: true }],
      ['orphanDependents=true&propagationPolicy=Orphan', {}],
      ['', { orphanDependents: true, propagationPolicy: 'Orphan' }],
    ] as const)
      expect((await withBody(search, body)).status).toBe(422);
    expect((await ask('GET', `${robots}/a`)).status).toBe(200);
    expect((await withBody('propagationPolicy=Orphan', { propagationPolicy: 'Background' })).status).toBe(200);
    expect((await ask('GET', `${robots}/a`)).status).toBe(404);
  });
});
