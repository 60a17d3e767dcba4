import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { parseProtobuf } from '@cluster-apiserver/model/codec';
import { defineKind, defineSubresource } from '@cluster-apiserver/model/kind';
import type { ObjectSchema } from '@cluster-apiserver/model/schema';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { askDocuments } from '../../test/ask-documents.ts';
import { discoveryRoutes } from './discovery.ts';
import { aggregatedSchema, documentSchemas } from './protobuf.ts';

const light = defineSubresource({
  name: 'light',
  group: 'light.example',
  version: 'v2',
  kind: 'LightRequest',
  description: 'For these tests.',
  fields: {},
  requiredFields: [],
  create: async (_, request) => request,
});

const kind = (group: string, version: string, plural: string) =>
  defineKind({
    group,
    version,
    kind: plural === 'lamps' ? 'Lamp' : 'Bulb',
    plural,
    singular: plural.slice(0, -1),
    shortNames: plural === 'lamps' ? ['la'] : [],
    categories: ['all'],
    description: 'For these tests.',
    fields: {},
    names: subdomainNames,
    qualifiedFinalizers: true,
    createOnUpdate: false,
    ownsOthers: true,
    deletedAnswer: 'object',
    subresources: plural === 'lamps' ? [light] : [],
    selectableFields: {},
    unknownSelectorField: (name) => name,
  });

const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+test',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '',
  goVersion: '',
  compiler: '',
  platform: '',
};

const kinds = [
  kind('', 'v1', 'lamps'),
  kind('', 'v1', 'bulbs'),
  kind('shop.example', 'v1', 'lamps'),
  kind('shop.example', 'v1beta1', 'lamps'),
];
const ask = askDocuments({}, [discoveryRoutes(() => kinds, version, systemClock)]);
const json = async (path: string, accept?: string): Promise<unknown> =>
  JSON.parse((await ask(path, accept ? { accept } : {})).text);

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

test('the core group is listed in /api and the others in /apis, with versions in order', async () => {
  expect(await json('/api')).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
  const shop = {
    name: 'shop.example',
    versions: [
      { groupVersion: 'shop.example/v1', version: 'v1' },
      { groupVersion: 'shop.example/v1beta1', version: 'v1beta1' },
    ],
    preferredVersion: { groupVersion: 'shop.example/v1', version: 'v1' },
  };
  expect(await json('/apis')).toEqual({ kind: 'APIGroupList', apiVersion: 'v1', groups: [shop] });
  expect(await json('/apis/shop.example')).toEqual({ kind: 'APIGroup', apiVersion: 'v1', ...shop });
});

test('a version lists its resources by name, each followed by its subresources', async () => {
  expect(await json('/api/v1')).toEqual({
    kind: 'APIResourceList',
    groupVersion: 'v1',
    resources: [
      {
        name: 'bulbs',
        singularName: 'bulb',
        namespaced: true,
        kind: 'Bulb',
        verbs,
        categories: ['all'],
        storageVersionHash: '526VBHMNLrg=',
      },
      {
        name: 'lamps',
        singularName: 'lamp',
        namespaced: true,
        kind: 'Lamp',
        verbs,
        shortNames: ['la'],
        categories: ['all'],
        storageVersionHash: 'uCQGP0Vkrio=',
      },
      {
        name: 'lamps/light',
        singularName: '',
        namespaced: true,
        group: 'light.example',
        version: 'v2',
        kind: 'LightRequest',
        verbs: ['create'],
      },
    ],
  });
  expect(await json('/apis/shop.example/v1beta1')).toMatchObject({
    apiVersion: 'v1',
    groupVersion: 'shop.example/v1beta1',
  });
});

const aggregated = (version: string): string =>
  `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

test.each([
  ['nothing', undefined, 'application/json'],
  ['anything', '*/*', 'application/json'],
  ['the newest', aggregated('v2'), aggregated('v2')],
  ['the older', aggregated('v2beta1'), aggregated('v2beta1')],
  ['all three, as kubectl does', `${aggregated('v2')},${aggregated('v2beta1')},application/json`, aggregated('v2')],
  ['one that is not there, and another', `${aggregated('v9')},${aggregated('v2beta1')}`, aggregated('v2beta1')],
  ['one that is not there, and plain lists', `${aggregated('v9')},application/json`, 'application/json'],
  ['plain lists first', `application/json,${aggregated('v2')}`, 'application/json'],
  ['plain lists rather', `${aggregated('v2')};q=0.5,application/json`, 'application/json'],
  ['YAML', 'application/yaml', 'application/yaml'],
])('a client that accepts %s gets its preferred format', async (_, accept, contentType) => {
  for (const path of ['/api', '/apis']) {
    expect((await ask(path, accept ? { accept } : {})).headers).toMatchObject({
      'content-type': contentType,
      vary: 'Accept',
    });
  }
});

test('an unknown format is not acceptable', async () => {
  for (const accept of ['text/html', aggregated('v9')])
    await expect(ask('/api', { accept })).rejects.toMatchObject({ reason: 'NotAcceptable' });
});

test('aggregated discovery has all groups and resources', async () => {
  expect(await json('/api', aggregated('v2'))).toMatchObject({
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    items: [
      {
        metadata: {},
        versions: [
          {
            version: 'v1',
            freshness: 'Current',
            resources: [
              { resource: 'bulbs' },
              {
                resource: 'lamps',
                responseKind: { group: '', version: 'v1', kind: 'Lamp' },
                scope: 'Namespaced',
                singularResource: 'lamp',
                verbs,
                shortNames: ['la'],
                categories: ['all'],
                subresources: [
                  {
                    subresource: 'light',
                    responseKind: { group: 'light.example', version: 'v2', kind: 'LightRequest' },
                    verbs: ['create'],
                  },
                ],
              },
            ],
          },
        ],
      },
    ],
  });
  expect(await json('/apis', aggregated('v2beta1'))).toMatchObject({
    apiVersion: 'apidiscovery.k8s.io/v2beta1',
    items: [{ metadata: { name: 'shop.example' }, versions: [{ version: 'v1' }, { version: 'v1beta1' }] }],
  });
});

test('a client with the current ETag gets 304, and each encoding has its own ETag', async () => {
  const tags = new Set<string>();
  for (const accept of [aggregated('v2'), aggregated('v2beta1'), 'application/json', 'application/yaml']) {
    const etag = String((await ask('/api', { accept })).headers.etag);
    tags.add(etag);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      expect(await ask('/api', { accept, 'if-none-match': known })).toMatchObject({
        status: 304,
        headers: { etag, vary: 'Accept' },
        text: '',
      });
    }
    expect(await ask('/api', { accept, 'if-none-match': '"other"' })).toMatchObject({ status: 200 });
  }
  expect(tags.size).toBe(4);
});

test.each(['/version', '/api', '/apis', '/api/v1', '/apis/shop.example', '/apis/shop.example/v1'])(
  '%s is there with a slash behind it too, and takes no other method than GET and HEAD',
  async (path) => {
    expect((await ask(`${path}/`)).text).toBe((await ask(path)).text);
    expect((await ask(path, {}, 'HEAD')).status).toBe(200);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'])
      await expect(ask(path, {}, method)).rejects.toMatchObject({ reason: 'MethodNotAllowed' });
  },
);

test.each(['/api/v2', '/apis/gadgets.example', '/apis/shop.example/v2'])('%s is not there', async (path) => {
  expect(await ask(path)).toMatchObject({ status: 404, text: '404 page not found\n' });
});

test.each(['/api', '/apis', '/api/v1', '/apis/shop.example', '/apis/shop.example/v1'])(
  '%s says the same in protobuf as in JSON',
  async (path) => {
    const { kind, value } = await protobuf(path, protobufType, documentSchemas);
    const inJson = (await json(path)) as Readonly<Record<string, unknown>>;
    expect(kind).toBe(inJson['kind']);
    expect(withoutEmpty(value)).toEqual(withoutEmpty(inJson));
  },
);

test.each(['/api', '/apis'])('%s has the same groups and resources in protobuf as in JSON', async (path) => {
  const inProtobuf = aggregated('v2').replace('application/json', protobufType);
  const { kind, value } = await protobuf(path, inProtobuf, { APIGroupDiscoveryList: aggregatedSchema });
  const { metadata: _, ...inJson } = (await json(path, aggregated('v2'))) as Readonly<Record<string, unknown>>;
  expect(kind).toBe('APIGroupDiscoveryList');
  expect(withoutEmpty(value)).toEqual(withoutEmpty(inJson));
});

const protobufType = 'application/vnd.kubernetes.protobuf';

async function protobuf(
  path: string,
  accept: string,
  schemas: Readonly<Record<string, ObjectSchema>>,
): Promise<{ readonly kind: string | undefined; readonly value: unknown }> {
  const { bytes, headers } = await ask(path, { accept });
  expect(headers['content-type']).toBe(accept);
  let kind: string | undefined;
  const { value } = parseProtobuf(bytes, (names) => {
    ({ kind } = names);
    return kind === undefined ? undefined : schemas[kind];
  });
  return { kind, value };
}

/** Protobuf does not tell what is empty from what is absent, and has verbs in a message of their own. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== 'object' || value === null) return value;
  if ('items' in value && Array.isArray(value.items) && value.items.every((item) => typeof item === 'string'))
    return value.items;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== '' && member !== false && !(Array.isArray(member) && member.length === 0))
      .map(([name, member]) => [name, withoutEmpty(member)]),
  );
}

test('browsers and curl get indented JSON', async () => {
  const { text } = await ask('/version', { 'user-agent': 'curl/8.0' });
  expect(text).toBe(JSON.stringify(version, null, 2));
});
