import { describe, expect, test } from '@jest/globals';
import { robots, usePipeline } from '../test/use-pipeline.ts';

const pipeline = usePipeline();
const { ask, make } = pipeline;

describe('a patch', () => {
  test('a merge patch changes the fields that it names, and invalid ones are refused', async () => {
    await make('a', { arms: 2, words: { x: '1' } });
    const patch = (body: unknown, type = 'application/merge-patch+json', search = '') =>
      ask('PATCH', `${robots}/a${search}`, { body: JSON.stringify(body), headers: { 'content-type': type } });
    expect((await patch({ arms: null, words: { y: '2' } })).json()).toMatchObject({ words: { x: '1', y: '2' } });
    for (const [body, type, search, code] of [
      [[], undefined, '', 400],
      [{ kind: 'Pod' }, undefined, '', 422],
      [{ arms: 'x' }, undefined, '', 422],
      [{ metadata: { name: 'b' } }, undefined, '', 400],
      [{ metadata: { resourceVersion: '1' } }, undefined, '', 409],
      [{ $patch: 'bogus' }, 'application/strategic-merge-patch+json', '', 400],
      [{ $patch: 'merge' }, 'application/strategic-merge-patch+json', '', 400],
      [{ metadata: { $patch: 'merge', labels: { a: 'b' } } }, 'application/strategic-merge-patch+json', '', 400],
      [{ colour: 1 }, undefined, '?fieldValidation=Strict', 400],
      [{}, undefined, '?force=true', 422],
      [{}, 'application/json', '', 415],
      [{}, 'constructor', '', 415],
    ] as const) {
      expect((await patch(body, type, search)).status).toBe(code);
    }
    expect(pipeline.reportedErrors).toEqual([]);
  });

  test('a JSON patch is applied completely or refused', async () => {
    await make('a', { arms: 2, words: { x: '1' } });
    const patch = (body: unknown, search = '') =>
      ask('PATCH', `${robots}/a${search}`, {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json-patch+json' },
      });
    const set = (path: string, value: unknown) => ({ op: 'replace', path, value });
    expect((await patch([set('/words/x', '2'), set('/arms', 3)])).json()).toMatchObject({ arms: 3, words: { x: '2' } });
    const warned = await patch([{ ...set('/arms', 3), colour: 'blue' }]);
    expect(warned.headers['warning']).toEqual(['299 - "json patch unknown field \\"[0].colour\\""']);
    for (const [body, search, code] of [
      [{}, '', 400],
      [[1], '', 400],
      [[{ op: 7 }], '', 400],
      [[set('/arms', 'x')], '', 422],
      [[set('', 'x')], '', 422],
      [[set('/kind', 'Pod')], '', 422],
      [[{ op: 'test', path: '/arms', value: 4 }], '', 422],
      [[{ op: 'explode', path: '' }], '', 422],
      [[set('/arms', 3)], '?force=false', 422],
      [[{ ...set('/arms', 3), colour: 'blue' }], '?fieldValidation=Strict', 400],
      [[set('/colour', 'blue')], '?fieldValidation=Strict', 400],
      [Array.from({ length: 10_001 }, () => set('/arms', 3)), '', 413],
    ] as const) {
      expect((await patch(body, search)).status).toBe(code);
    }
    const deep = `[{"op":"add","path":"/metadata/managedFields","value":[{"fieldsV1":${'{"f:a":'.repeat(9_000)}1${'}'.repeat(9_000)}}]}]`;
    const answer = await ask('PATCH', `${robots}/a`, {
      body: deep,
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect(answer.status).toBeLessThan(500);
    expect(pipeline.reportedErrors).toEqual([]);
  });

  test.each([
    ['YAML', 'kind: Robot\napiVersion: v1\nmetadata:\n  name: a\n  name: a\nzork: 1\nblue: 1\n'],
    ['JSON', '{"kind":"Robot","apiVersion":"v1","metadata":{"name":"a","name":"a"},"zork":1,"blue":1}'],
  ])('a strict apply of %s names unknown and duplicate fields', async (_, body) => {
    const refused = await ask('PATCH', `${robots}/a?fieldManager=m&fieldValidation=Strict`, {
      body,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    });
    expect(refused.status).toBe(400);
    for (const field of ['name', 'zork', 'blue']) expect(refused.json().message).toContain(field);
  });

  test.each([
    ['colour: blue', ': .colour: field not declared in schema'],
    [
      'colour: blue\nzork: 1',
      ': errors:\n  .colour: field not declared in schema\n  .zork: field not declared in schema',
    ],
    [
      'arms: x\nwords: {a: 1}',
      ': errors:\n  .arms: expected numeric (int or float), got string\n  .words.a: expected string, got &value.valueUnstructured{Value:1}',
    ],
  ])('a strict apply refuses %j in the words of kube-apiserver', async (fields, problem) => {
    const refused = await ask('PATCH', `${robots}/a?fieldManager=m&fieldValidation=Strict`, {
      body: `kind: Robot\napiVersion: v1\nmetadata: {name: a}\n${fields}\n`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    });
    const object = 'failed to create typed patch object (/a; /v1, Kind=Robot)';
    expect(refused.json()).toMatchObject({ code: 400, reason: 'BadRequest', message: `${object}${problem}` });
  });

  test('ten thousand operations are within the limits, and what they hold is bounded as an object is', async () => {
    await make('a', { words: { x: '1' } });
    const patch = (operations: readonly object[]) =>
      ask('PATCH', `${robots}/a`, {
        body: JSON.stringify(operations),
        headers: { 'content-type': 'application/json-patch+json' },
      });
    const times = (count: number, operation: object): object[] => Array.from({ length: count }, () => operation);
    const moved = [
      { op: 'move', from: '/words/x', path: '/words/y', value: 0 },
      { op: 'move', from: '/words/y', path: '/words/x', value: 0 },
    ];
    expect((await patch([...times(4_999, moved).flat(), { op: 'add', path: '/arms', value: 5 }])).json()).toMatchObject(
      {
        arms: 5,
        words: { x: '1' },
      },
    );
    expect((await patch(times(10_000, { op: 'replace', path: '/arms', value: 6 }))).json()).toMatchObject({ arms: 6 });
    expect((await patch(times(10_001, { op: 'replace', path: '/arms', value: 6 }))).status).toBe(413);
    const words = Object.fromEntries(Array.from({ length: 25_100 }, (_, i) => [`w${i}`, '']));
    expect((await patch([{ op: 'replace', path: '/words', value: words }])).status).toBe(413);
    expect((await patch([{ op: 'test', path: '/words', value: times(25_100, {}) }])).status).toBe(413);
    expect((await patch([Object.fromEntries(times(25_100, {}).map((_, i) => [`u${i}`, 1]))])).status).toBe(413);
  });

  test('an apply creates, changes and is refused, in YAML or in JSON', async () => {
    const apply = (body: string, search = '?fieldManager=m') =>
      ask('PATCH', `${robots}/a${search}`, { body, headers: { 'content-type': 'application/apply-patch+yaml' } });
    const head = 'kind: Robot\napiVersion: v1\nmetadata: {name: a}\n';
    const created = await apply(`${head}arms: 2\nwords: {x: "1"}\n`);
    expect(created.status).toBe(201);
    expect(created.json()).toMatchObject({ arms: 2, words: { x: '1' } });
    const json = { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'a' }, arms: 3 };
    const changed = await apply(JSON.stringify(json));
    expect(changed.status).toBe(200);
    expect(changed.json()).not.toHaveProperty('words');
    const warned = await apply(`${head}arms: 3\ncolour: blue\n`);
    expect(warned.headers['warning']).toEqual(['299 - "unknown field \\"colour\\""']);
    for (const [body, search, code] of [
      [`${head}arms: 4`, '?fieldManager=other', 409],
      [`${head}arms: 3`, '', 422],
      [`${head}arms: 3`, '?fieldManager=', 422],
      [`${head}arms: 3`, `?fieldManager=${'m'.repeat(200)}`, 422],
      [`${head}arms: x`, undefined, 400],
      [`${head}colour: blue`, '?fieldManager=m&fieldValidation=Strict', 400],
      [`${head}arms: 3\narms: 3`, '?fieldManager=m&fieldValidation=Strict', 400],
      ['metadata: {name: a}', undefined, 400],
      ['kind: Pod\napiVersion: v1\nmetadata: {name: a}', undefined, 400],
      ['kind: Robot\napiVersion: v2\nmetadata: {name: a}', undefined, 400],
      ['kind: Robot\napiVersion: v1\nmetadata: {name: a, managedFields: []}', undefined, 400],
      ['a: [b\nc: }', undefined, 400],
      ['- a', undefined, 400],
      ['', undefined, 400],
      [`# ${'x'.repeat(600_000)}`, undefined, 413],
    ] as const) {
      expect((await apply(body, search)).status).toBe(code);
    }
    expect((await apply(`${head}arms: 4`, '?fieldManager=other&force=true')).json()).toMatchObject({ arms: 4 });
    expect(pipeline.reportedErrors).toEqual([]);
  });
});
