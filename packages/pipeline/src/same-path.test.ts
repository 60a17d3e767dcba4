import type { BodySource } from './body-source.ts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { createAdmission, type Authorizer } from '@cluster-apiserver/gates';
import type { AccessAttributes } from '@cluster-apiserver/model';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { pathSegmentNames } from '@cluster-apiserver/model/validation';
import { createHealth } from '@cluster-apiserver/telemetry';
import * as fc from 'fast-check';
import { fixedRoutes } from '../test/ask-documents.ts';
import { type OpenPipeline, openPipeline } from '../test/open-pipeline.ts';
import { discoveryRoutes } from './discovery/discovery.ts';
import type { NonResourceHandler } from './non-resource/live-routes.ts';
import { createNonResourceRouter } from './non-resource/router.ts';
import type { ApiResponse } from './exchange.ts';
import { healthRoutes } from './non-resource/health.ts';
import { issuerRoutes } from './non-resource/service-account-issuer.ts';
import { openApiRoutes } from './openapi/openapi.ts';
import { textResponse } from './responses.ts';

/** The path that is authorized is the path that is served, whatever is encoded in it and for every route and document. */

const kind = (group: string, name: string): Kind =>
  defineKind({
    group,
    version: 'v1',
    kind: name,
    plural: `${name.toLowerCase()}s`,
    singular: name.toLowerCase(),
    shortNames: [],
    description: 'For these tests.',
    fields: {},
    names: pathSegmentNames,
    qualifiedFinalizers: false,
    createOnUpdate: false,
    ownsOthers: true,
    deletedAnswer: 'object',
    subresources: [],
    selectableFields: {},
    unknownSelectorField: (field) => field,
  });
const kinds = [kind('', 'Robot'), kind('notes.example', 'Note')];
const version = {} as Parameters<typeof discoveryRoutes>[1];

const documents: Readonly<Record<string, NonResourceHandler>> = {
  ...fixedRoutes(discoveryRoutes(() => kinds, version, systemClock)),
  ...fixedRoutes(openApiRoutes(() => kinds, 'v1', systemClock)),
  ...healthRoutes(createHealth({ clock: systemClock, failed: () => {} })),
  ...issuerRoutes({ metadata: () => ({}), keySet: () => ({}) }),
  '/metrics': ({ auditId }) => textResponse(auditId, 200, ''),
};
const paths = [
  ...Object.keys(documents).map((pattern) => pattern.replace('*check', 'ping')),
  '/api/v1/robots',
  '/api/v1/namespaces/n/robots',
  '/api/v1/namespaces/n/robots/a',
  '/api/v1/namespaces/m/robots/a',
  '/apis/notes.example/v1/notes',
  '/apis/notes.example/v1/namespaces/n/notes',
  '/apis/notes.example/v1/namespaces/n/notes/a',
];

let pipeline: OpenPipeline;
let authorized: AccessAttributes | undefined;
let servedDocument: string | undefined;

beforeAll(async () => {
  const recorded = Object.keys(documents).map((pattern): [string, NonResourceHandler] => [
    pattern,
    ({ auditId }, parameters) => {
      servedDocument = pattern.replace('*check', () => parameters['check'] ?? '');
      return textResponse(auditId, 200, '');
    },
  ]);
  const authorizer: Authorizer = {
    authorize: (attributes) => {
      authorized = attributes;
      return { verdict: 'allow' };
    },
  };
  pipeline = await openPipeline({
    kinds,
    chain: { authorizer },
    routes: {
      checks: { admission: createAdmission([]), authorizer },
      nonResourceRouter: createNonResourceRouter(Object.fromEntries(recorded)),
    },
  });
  for (const collection of ['/api/v1/namespaces/n/robots', '/api/v1/namespaces/m/robots'])
    expect((await ask('POST', collection, '{"metadata":{"name":"a"}}')).status).toBe(201);
  const note = await ask('POST', '/apis/notes.example/v1/namespaces/n/notes', '{"metadata":{"name":"a"}}');
  expect(note.status).toBe(201);
});
afterAll(() => pipeline.close());

function ask(method: string, target: string, body = ''): Promise<ApiResponse> {
  authorized = undefined;
  servedDocument = undefined;
  return pipeline.ask(method, target, { body });
}

interface Served {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name?: string };
  readonly items?: readonly { readonly metadata: { readonly namespace: string } }[];
}

/** Fails unless the served path is the authorized one. */
function expectSame(target: string, status: number, body: ApiResponse['body']): void {
  if (status !== 200) return;
  const { path, resource } = authorized as AccessAttributes; // nothing is served without a decision
  if (!resource) return expect([target, servedDocument]).toEqual([target, path]);
  expect([target, servedDocument]).toEqual([target, undefined]);
  const text = typeof body === 'string' ? body : String((body as BodySource).next(1e6, Buffer.alloc));
  const served = JSON.parse(text) as Served;
  const collection = `${resource.resource}${resource.group}`;
  if (resource.name !== undefined) {
    const { namespace, name } = served.metadata;
    const found = [target, `${served.kind.toLowerCase()}s`, namespace, name];
    return expect(found).toEqual([target, resource.resource, resource.namespace, resource.name]);
  }
  expect([target, collection]).toEqual([target, served.kind === 'RobotList' ? 'robots' : 'notesnotes.example']);
  for (const { metadata } of served.items ?? [])
    expect([target, resource.namespace ?? metadata.namespace]).toEqual([target, metadata.namespace]);
}

test('every path is served as itself', async () => {
  for (const path of paths) {
    const { status, body } = await ask('GET', path);
    expect([path, status]).toEqual([path, 200]);
    expectSame(path, status, body);
  }
});

test.each([
  ...['/metrics%3Fx', '/metrics%23', '/metrics%23x', '/livez%3fx', '/livez%3Fverbose', '/version#x', '/version%23x'],
  ...['/metrics%253F', '/metrics;', '/metrics%00', '/metrics/', '//metrics', '/./metrics', '/x/../metrics', '/METRICS'],
  ...['/metrics%2f', '%2fmetrics', '/%2fmetrics', '/metrics%ff', '/metrics%c0%af', '/metrics%20', '/metrics\u00e9'],
  ...['/apis//v1/namespaces/n/robots', '/apis//v1/robots', '//api/v1/robots', '/api//v1/robots', '/API/v1/robots'],
  ...['/livez/ping%3F', '/livez/pi%2Fng', '/livez/', '/api/v1/namespaces/n/robots/a%00', '/constructor', '/__proto__'],
])('%s is another path than the one that it resembles', async (target) => {
  const { status, body } = await ask('GET', target);
  if (servedDocument === undefined) expect([400, 404]).toContain(status);
  expectSame(target, status, body);
});

test('the authorized path is served, however it is encoded', async () => {
  const hostile = fc.constantFrom(
    ...['%2f', '/', '//', '/./', '/../', '..', ';', '%3b', '%00', '%0a', '#', '%23', '%3f', '%3F', '?', '%25', '%2525'],
    ...['%ff', '%c3%a9', '%20', ' ', ':', '\\', '%5c', 'x', 'namespaces', 'watch', 'status', '__proto__', '%e2%80%a8'],
  );
  const insertion = fc.option(fc.tuple(fc.nat({ max: 60 }), hostile), { freq: 2, nil: undefined });
  const escapes = fc.array(fc.constantFrom('plain', 'plain', 'plain', 'upper', 'lower'), {
    minLength: 1,
    maxLength: 12,
  });
  const encodings = fc.tuple(fc.constantFrom(...paths), escapes, insertion);
  const property = fc.asyncProperty(encodings, async ([path, escaped, inserted]) => {
    const characters = path.split('').map((character, at) => {
      const hex = character.charCodeAt(0).toString(16);
      const how = escaped[at % escaped.length];
      if (at === 0 || how === 'plain') return character;
      return `%${how === 'upper' ? hex.toUpperCase() : hex}`;
    });
    if (inserted) characters.splice(inserted[0] % (characters.length + 1), 0, inserted[1]);
    const target = characters.join('');
    const { status, body } = await ask('GET', target);
    // Another encoding of the same path is served.
    if (!inserted) expect([target, status]).toEqual([target, 200]);
    expectSame(target, status, body);
  });
  await fc.assert(property, { numRuns: 3000, seed: 24 });
});
