import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { defineKind, defineSubresource } from '@cluster-apiserver/model/kind';
import { jsonField, string } from '@cluster-apiserver/model/schema';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { askDocuments } from '../../test/ask-documents.ts';
import { decodeOpenApi3 } from '../../test/openapi-v3-protobuf.ts';
import { openApiRoutes } from './openapi.ts';
import type { Document3 } from './version-3.ts';

const kind = (group: string, createOnUpdate: boolean, deletedAnswer: 'object' | 'status') =>
  defineKind({
    group,
    version: 'v1',
    kind: 'Lamp',
    plural: 'lamps',
    singular: 'lamp',
    shortNames: [],
    description: 'Gives light <b>&</b> warmth.',
    fields: { color: jsonField(string, 'What light it gives.') },
    requiredFields: ['color'],
    names: subdomainNames,
    qualifiedFinalizers: true,
    createOnUpdate,
    ownsOthers: true,
    deletedAnswer,
    subresources: [
      defineSubresource({
        name: 'light',
        group: 'light.example',
        version: 'v2',
        kind: 'LightRequest',
        description: 'Asks for light.',
        fields: {},
        requiredFields: [],
        create: async (_, request) => request,
      }),
    ],
    selectableFields: {},
    unknownSelectorField: (name) => name,
  });

const now = Date.UTC(2026, 0, 1);
const kinds = [kind('', false, 'object'), kind('shop.example', true, 'status')];
const ask = askDocuments({}, [openApiRoutes(() => kinds, 'v1.2.3', { ...systemClock, now: () => now })]);
const json = async <T>(path: string): Promise<T> => JSON.parse((await ask(path)).text) as T;
const document = (path: string): Promise<Document3> => json(path);

interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}

test('the index links a document per group and version, which is immutable', async () => {
  const { paths } = await json<Index>('/openapi/v3');
  expect(Object.keys(paths)).toEqual(['api/v1', 'apis/shop.example/v1']);
  for (const { serverRelativeURL } of Object.values(paths)) {
    const { status, headers, text } = await ask(serverRelativeURL);
    expect({ status, headers }).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'public, immutable', expires: 'Fri, 01 Jan 2027 00:00:00 GMT' },
    });
    expect((JSON.parse(text) as Document3).openapi).toBe('3.0.0');
  }
});

test('an outdated hash is redirected to the current one, and a missing one returns the document without caching', async () => {
  const { paths } = await json<Index>('/openapi/v3');
  expect(await ask('/openapi/v3/api/v1?hash=OLD')).toMatchObject({
    status: 301,
    headers: { location: paths['api/v1']?.serverRelativeURL },
  });
  expect((await ask('/openapi/v3/api/v1')).headers).toMatchObject({ 'cache-control': 'no-cache, private' });
});

const schemas = async (path: string) => (await document(path)).components.schemas;

test('all operations of a kind are listed with unique operation IDs', async () => {
  const { paths } = await document('/openapi/v3/apis/shop.example/v1');
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      'operationId' in operation ? [`${operation.operationId}: ${method} ${path}`] : [],
    ),
  );
  const root = '/apis/shop.example/v1';
  expect(operations.toSorted()).toEqual([
    `createShopExampleV1NamespacedLamp: post ${root}/namespaces/{namespace}/lamps`,
    `createShopExampleV1NamespacedLampLight: post ${root}/namespaces/{namespace}/lamps/{name}/light`,
    `deleteShopExampleV1CollectionNamespacedLamp: delete ${root}/namespaces/{namespace}/lamps`,
    `deleteShopExampleV1NamespacedLamp: delete ${root}/namespaces/{namespace}/lamps/{name}`,
    `listShopExampleV1LampForAllNamespaces: get ${root}/lamps`,
    `listShopExampleV1NamespacedLamp: get ${root}/namespaces/{namespace}/lamps`,
    `patchShopExampleV1NamespacedLamp: patch ${root}/namespaces/{namespace}/lamps/{name}`,
    `readShopExampleV1NamespacedLamp: get ${root}/namespaces/{namespace}/lamps/{name}`,
    `replaceShopExampleV1NamespacedLamp: put ${root}/namespaces/{namespace}/lamps/{name}`,
    `watchShopExampleV1LampListForAllNamespaces: get ${root}/watch/lamps`,
    `watchShopExampleV1NamespacedLamp: get ${root}/watch/namespaces/{namespace}/lamps/{name}`,
    `watchShopExampleV1NamespacedLampList: get ${root}/watch/namespaces/{namespace}/lamps`,
  ]);
});

test.each(['/openapi/v2', '/openapi/v3/api/v1', '/openapi/v3/apis/shop.example/v1'])(
  '%s has no empty list, which clients would lose when they write it',
  async (path) => {
    const { paths } = await document(path);
    const reads = Object.values(paths).flatMap((item) => item.get ?? []);
    expect(reads.length).toBeGreaterThan(0);
    expect(JSON.stringify(paths)).not.toContain('[]');
  },
);

test('kubectl finds that the server validates fields itself, beside each operation', async () => {
  const { paths } = await document('/openapi/v3/api/v1');
  const { patch, put } = paths['/api/v1/namespaces/{namespace}/lamps/{name}'] ?? {};
  for (const operation of [patch, put]) {
    expect(operation?.parameters).toContainEqual(expect.objectContaining({ name: 'fieldValidation', in: 'query' }));
    expect(operation?.['x-kubernetes-group-version-kind']).toEqual({ group: '', version: 'v1', kind: 'Lamp' });
  }
});

test.each([
  ['/openapi/v3/api/v1', '/api/v1', 'io.k8s.api.core.v1.Lamp'],
  ['/openapi/v3/apis/shop.example/v1', '/apis/shop.example/v1', 'io.k8s.apimachinery.pkg.apis.meta.v1.Status'],
])('the responses in %s are those of the API', async (path, root, deleted) => {
  const { paths } = await document(path);
  const codes = (operation: { readonly responses: object } | undefined): readonly string[] =>
    Object.keys(operation?.responses ?? {});
  const collection = paths[`${root}/namespaces/{namespace}/lamps`];
  const item = paths[`${root}/namespaces/{namespace}/lamps/{name}`];
  expect(codes(collection?.post)).toEqual(['200', '201', '202', '401']);
  expect(codes(collection?.delete)).toEqual(['200', '401']);
  expect(codes(item?.get)).toEqual(['200', '401']);
  expect(codes(item?.put)).toEqual(['200', '201', '401']);
  expect(codes(item?.patch)).toEqual(['200', '201', '401']);
  expect(codes(item?.delete)).toEqual(['200', '202', '401']);
  for (const code of ['200', '202'])
    expect(item?.delete?.responses[code]?.content?.['application/json']).toEqual({
      schema: { $ref: `#/components/schemas/${deleted}` },
    });
});

test.each(['/openapi/v3/api/v1', '/openapi/v3/apis/shop.example/v1'])('%s defines what it refers to', async (path) => {
  const defined = await schemas(path);
  const { text } = await ask(path);
  const referred = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name ?? ''));
  expect(referred.size).toBeGreaterThan(5);
  for (const name of referred) expect(defined).toHaveProperty([name]);
});

test('version 2 describes the same in one document', async () => {
  const { text } = await ask('/openapi/v2');
  const whole = JSON.parse(text) as { swagger: string; paths: object; definitions: Record<string, unknown> };
  expect(whole.swagger).toBe('2.0');
  const third = await Promise.all(['/openapi/v3/api/v1', '/openapi/v3/apis/shop.example/v1'].map(document));
  expect(Object.keys(whole.paths)).toEqual(third.flatMap(({ paths }) => Object.keys(paths)));
  expect(new Set(Object.keys(whole.definitions))).toEqual(
    new Set(third.flatMap(({ components }) => Object.keys(components.schemas))),
  );
  for (const [, name] of text.matchAll(/"#\/definitions\/([^"]+)"/g))
    expect(whole.definitions).toHaveProperty([name ?? '']);
});

test('version 2 is available as protobuf by both media types', async () => {
  const type = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  for (const accept of [
    type,
    'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
    `${type}, application/json`,
  ]) {
    const { headers, text } = await ask('/openapi/v2', { accept });
    expect(headers).toMatchObject({ 'content-type': type, vary: 'Accept', etag: expect.any(String) });
    // The first field of the document is its version; the kubectl tests read the rest.
    expect(text.slice(0, 5)).toBe('\n\u00032.0');
    expect(text).toContain('x-kubernetes-group-version-kind');
  }
  for (const accept of ['*/*', 'application/json', `application/json, ${type};q=0.5`])
    expect((await ask('/openapi/v2', { accept })).headers).toMatchObject({ 'content-type': 'application/json' });
});

test('version 3 is available as protobuf by both media types, with the same content as JSON', async () => {
  const type = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
  const { paths } = await json<Index>('/openapi/v3');
  for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
    for (const accept of [type, 'application/com.github.proto-openapi.spec.v3@v1.0+protobuf', `${type}, */*;q=0.1`]) {
      const { status, headers, bytes } = await ask(serverRelativeURL, { accept });
      expect({ status, headers }).toMatchObject({
        status: 200,
        headers: { 'content-type': type, vary: 'Accept', 'cache-control': 'public, immutable' },
      });
      expect(decodeOpenApi3(bytes)).toEqual(await document(`/openapi/v3/${path}`));
    }
    for (const accept of ['*/*', 'application/json', `application/json, ${type};q=0.5`])
      expect((await ask(serverRelativeURL, { accept })).headers).toMatchObject({ 'content-type': 'application/json' });
    expect(await ask(`/openapi/v3/${path}?hash=OLD`, { accept: type })).toMatchObject({
      status: 301,
      headers: { location: serverRelativeURL },
    });
  }
  // The index is JSON only, as in kube-apiserver.
  await expect(ask('/openapi/v3', { accept: type })).rejects.toMatchObject({ code: 406 });
});

test('the HTML page is complete, loads nothing and escapes text', async () => {
  const { headers, text } = await ask('/docs', { accept: 'text/html,application/xhtml+xml' });
  expect(headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  });
  expect(text).toContain('Gives light &#60;b&#62;&#38;&#60;/b&#62; warmth.');
  expect(text).toContain('/apis/shop.example/v1/namespaces/{namespace}/lamps/{name}');
  expect(text).not.toMatch(/<(script|link|img|iframe)\b|\b(src|srcset)=|url\(|@import/i);
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target);
});
