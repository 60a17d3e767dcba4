/** The two kinds of docs/adding-a-kind.md: their declarations are all that is added, and everything serves them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { systemClock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { encodeProtobuf, parseProtobuf } from '@cluster-apiserver/model/codec';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import type { JsonSchema } from '@cluster-apiserver/model/schema';
import { discoveryRoutes, openApiRoutes, type VersionInfo } from '@cluster-apiserver/pipeline';
import { services } from '../../kinds/test/services.ts';
import { askDocuments } from '../../pipeline/test/ask-documents.ts';
import { bytesOf, type OpenPipeline, openPipeline } from '../../pipeline/test/open-pipeline.ts';
import { textBundle } from './declared-kinds/text-bundle.ts';
import { role } from './declared-kinds/role.ts';

interface TextBundle extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}
interface Role extends KubeObject {
  readonly rules: readonly object[] | null;
}

const served = [...kinds(services), textBundle, role];
const protobuf = 'application/vnd.kubernetes.protobuf';

let api: OpenPipeline;
let ask: OpenPipeline['askJson'];
beforeAll(async () => {
  api = await openPipeline({ kinds: served });
  ask = api.askJson;
});
afterAll(async () => {
  expect(api.reportedErrors).toEqual([]);
  await api.close();
});

async function askRaw(method: string, path: string, accept: string, body?: Buffer): Promise<Buffer> {
  const headers = { accept, ...(body && { 'content-type': protobuf }) };
  return bytesOf(await api.ask(method, path, { headers, ...(body && { body }) }));
}

const cases: readonly (readonly [string, Kind, string, object])[] = [
  [
    'TextBundle',
    textBundle,
    '/api/v1/namespaces/n/textbundles',
    { immutable: false, data: { a: 'text', ü: '"' }, binaryData: { empty: '', raw: '/wD+' } },
  ],
  [
    'Role',
    role,
    '/apis/permissions.example.com/v1/namespaces/n/roles',
    { rules: [{ verbs: ['get', 'list'], resources: ['lamps'] }, { verbs: ['*'] }] },
  ],
];

test('the line of docs/adding-a-kind.md stands between lines of the real list', () => {
  const guide = fs.readFileSync(new URL('../../../docs/adding-a-kind.md', import.meta.url), 'utf8');
  const [, block = ''] = /in the list that `kinds\(\)`[^`]*`[^`]*`[^`]*```ts\n([^`]*)```/.exec(guide) ?? [];
  const index = fs.readFileSync(new URL('../../kinds/src/index.ts', import.meta.url), 'utf8');
  expect(block).toContain('    textBundle,\n');
  const others = block.split('\n').filter((line) => line.trim() !== '' && !line.includes('textBundle'));
  const places = others.map((line) => index.indexOf(line));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((one, other) => one - other));
});

describe.each(cases)('%s', (name, kind, path, content) => {
  const { apiVersion } = kind;
  const draft = { apiVersion, kind: name, metadata: { name: 'a' }, ...content };

  test('is declared in docs/adding-a-kind.md as it is here', () => {
    const file = kind === textBundle ? 'text-bundle' : 'role';
    const guide = fs.readFileSync(new URL('../../../docs/adding-a-kind.md', import.meta.url), 'utf8');
    expect(guide).toContain(fs.readFileSync(new URL(`declared-kinds/${file}.ts`, import.meta.url), 'utf8'));
  });

  test('is created, read, listed, replaced and deleted', async () => {
    const created = await ask('POST', path, draft);
    expect(created).toMatchObject({ status: 201, body: { kind: name, ...content } });
    expect((await ask('GET', `${path}/a`)).body).toEqual(created.body);
    const listed = await ask('GET', `${path}?fieldSelector=metadata.name%3Da`);
    expect(listed.body).toMatchObject({ kind: `${name}List`, items: [content] });
    const labeled = { ...created.body, metadata: { ...created.body.metadata, labels: { b: 'c' } } };
    expect(await ask('PUT', `${path}/a`, labeled)).toMatchObject({ status: 200, body: content });
    expect(await ask('DELETE', `${path}/a`)).toMatchObject({ status: 200 });
    expect((await ask('GET', `${path}/a`)).status).toBe(404);
  });

  test('is the same object in JSON, YAML and protobuf', async () => {
    const formsDraft = { ...draft, metadata: { name: 'forms' } };
    const sent = encodeProtobuf(kind.schema, formsDraft);
    const created = await askRaw('POST', path, 'application/json', sent);
    expect(JSON.parse(created.toString())).toMatchObject(content);
    const got = parseProtobuf(await askRaw('GET', `${path}/forms`, protobuf), () => kind.schema).value;
    expect(got).toMatchObject(content);
    const yaml = (await askRaw('GET', `${path}/forms`, 'application/yaml')).toString();
    const renamed = yaml.replace('name: forms', 'name: copy').replace(/ {2}(resourceVersion|uid): .*\n/g, '');
    expect(await ask('POST', path, renamed, 'application/yaml')).toMatchObject({ status: 201, body: content });
  });

  test('is found by discovery and described by OpenAPI 2 and 3', async () => {
    const documents = askDocuments({}, [
      discoveryRoutes(() => served, {} as VersionInfo, systemClock),
      openApiRoutes(() => served, 'v0', systemClock),
    ]);
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const discovered = JSON.parse((await documents(root)).text) as { resources: object[] };
    expect(discovered.resources).toContainEqual(expect.objectContaining({ kind: name, namespaced: true }));
    const model = kind.schema.publication?.name ?? '';
    const version2 = JSON.parse((await documents('/openapi/v2')).text) as {
      definitions: Record<string, JsonSchema>;
      paths: object;
    };
    const version3 = JSON.parse((await documents(`/openapi/v3${root}`)).text) as {
      components: { schemas: Record<string, JsonSchema> };
    };
    expect(version2.paths).toHaveProperty([path.replace('/n/', '/{namespace}/')]);
    for (const schemas of [version2.definitions, version3.components.schemas])
      expect(Object.keys(schemas[model]?.properties ?? {})).toEqual(expect.arrayContaining(Object.keys(content)));
  });

  test('is shown as a table', async () => {
    const table = await askRaw('GET', path, 'application/json;as=Table;g=meta.k8s.io;v=v1');
    const { columnDefinitions } = JSON.parse(table.toString()) as { columnDefinitions: { name: string }[] };
    expect(columnDefinitions.map((column) => column.name)).toEqual(kind.columns.map((column) => column.name));
  });
});

const apply = 'application/apply-patch+yaml';
const strategic = 'application/strategic-merge-patch+json';
const textBundles = '/api/v1/namespaces/n/textbundles';
const roles = '/apis/permissions.example.com/v1/namespaces/n/roles';
const applied = (fields: object): object => ({
  apiVersion: 'v1',
  kind: 'TextBundle',
  metadata: { name: 'applied' },
  ...fields,
});

test('appliers own the keys of a TextBundle one by one', async () => {
  const path = `${textBundles}/applied`;
  const one = { data: { a: '1' }, binaryData: { x: 'AA==' } };
  expect(await ask('PATCH', `${path}?fieldManager=one`, applied(one), apply)).toMatchObject({ status: 201 });
  const two = applied({ data: { b: '2' } });
  const both = await ask<TextBundle>('PATCH', `${path}?fieldManager=two`, two, apply);
  expect(both.body).toMatchObject({ data: { a: '1', b: '2' }, binaryData: { x: 'AA==' } });
  const conflict = applied({ binaryData: { x: 'AQ==' } });
  expect(await ask('PATCH', `${path}?fieldManager=two`, conflict, apply)).toMatchObject({
    status: 409,
    body: { details: { causes: [{ field: '.binaryData.x' }] } },
  });
  const less = await ask<TextBundle>('PATCH', `${path}?fieldManager=one`, applied({ data: { a: '1' } }), apply);
  expect(less.body).not.toHaveProperty('binaryData');
});

test('a Role whose title has too many bytes is rejected', async () => {
  const { status, body } = await ask<KubeObject & { message: string }>(
    'POST',
    '/apis/permissions.example.com/v1/namespaces/n/roles',
    { metadata: { name: 'long' }, title: 'ü'.repeat(51) },
  );
  expect(status).toBe(422);
  expect(body.message).toContain('title: Too long: may not be more than 100 bytes');
});

test('an applier owns the rules of a Role as a whole', async () => {
  const path = `${roles}/applied`;
  const roleWith = (rules: object[]): object => ({
    apiVersion: 'permissions.example.com/v1',
    kind: 'Role',
    metadata: { name: 'applied' },
    rules,
  });
  const made = await ask<Role>('PATCH', `${path}?fieldManager=one`, roleWith([{ verbs: ['get'] }]), apply);
  expect(made).toMatchObject({ status: 201, body: { rules: [{ verbs: ['get'] }] } });
  expect(await ask('PATCH', `${path}?fieldManager=two`, roleWith([{ verbs: ['list'] }]), apply)).toMatchObject({
    status: 409,
    body: { details: { causes: [{ field: '.rules' }] } },
  });
});

test('strategic merge patches change keys, remove them and replace atomic lists', async () => {
  await ask('POST', textBundles, {
    metadata: { name: 'patched' },
    data: { a: '1', b: '2' },
    binaryData: { x: 'AA==' },
  });
  const patch = { data: { a: null, c: '3' }, binaryData: { y: 'AQ==' } };
  const patched = await ask<TextBundle>('PATCH', `${textBundles}/patched`, patch, strategic);
  expect(patched.body.data).toEqual({ b: '2', c: '3' });
  expect(patched.body.binaryData).toEqual({ x: 'AA==', y: 'AQ==' });
  await ask('POST', roles, { metadata: { name: 'patched' }, rules: [{ verbs: ['get'] }, { verbs: ['list'] }] });
  const rules = [{ verbs: ['watch'], resources: ['lamps'] }];
  const replaced = await ask<Role>('PATCH', `${roles}/patched`, { rules }, strategic);
  expect(replaced.body.rules).toEqual(rules);
});

test.each([
  ['bytes that are not base64', textBundles, { binaryData: { x: '?' } }, 400],
  ['a map of wrong values', textBundles, { data: { x: 1 } }, 400],
  ['a list of wrong items', roles, { rules: [{ verbs: [1] }] }, 400],
  ['what the kind does not allow', roles, { rules: [{ verbs: [] }] }, 422],
])('%s are rejected', async (_, path, fields, status) => {
  expect((await ask('POST', path, { metadata: { name: 'wrong' }, ...fields })).status).toBe(status);
});

test('the rules of a kind hold for updates', async () => {
  const draft = { metadata: { name: 'fixed' }, immutable: true, data: { a: '1' } };
  await ask('POST', textBundles, draft);
  const change = await ask('PATCH', `${textBundles}/fixed`, { data: { a: '2' } }, 'application/merge-patch+json');
  expect(change).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'data' }] } } });
});
