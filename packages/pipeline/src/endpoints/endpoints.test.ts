import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { defineReview } from '@cluster-apiserver/model/kind';
import { type OpenPipeline, openPipeline } from '../../test/open-pipeline.ts';
import { machineVersion, noteKind, robotKind } from '../../test/robots.ts';
import { listServedResources } from '../discovery/served-groups.ts';
import { operationsOf } from '../openapi/operations.ts';
import { endpointsOf } from './endpoints.ts';

/** The router, OpenAPI and discovery agree about the endpoints of every kind. */

const review = defineReview({
  group: '',
  version: 'v1',
  kind: 'Question',
  plural: 'questions',
  singular: 'question',
  namespaced: false,
  description: 'For these tests.',
  fields: {},
  requiredFields: [],
  answer: (object) => object,
});
const kinds = [robotKind, machineVersion, noteKind, review];
const endpoints = kinds.flatMap(endpointsOf);

let pipeline: OpenPipeline;
beforeAll(async () => {
  pipeline = await openPipeline({ kinds: [robotKind, noteKind], routes: { reviews: [review] } });
});
afterAll(() => pipeline.close());

const titleOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method.toUpperCase()} ${path}`;

test('no two endpoints share method and path, or operation ID', () => {
  expect(new Set(endpoints.map(titleOf)).size).toBe(endpoints.length);
  expect(new Set(endpoints.map(({ operation }) => operation.id)).size).toBe(endpoints.length);
});

test('OpenAPI describes exactly the endpoints', () => {
  expect(kinds.flatMap(operationsOf).map(titleOf)).toEqual(endpoints.map(titleOf));
});

test('discovery lists the verbs of the endpoints', () => {
  const listed = kinds.flatMap((kind) =>
    listServedResources(kind).map(({ subresource, verbs }) => [kind.group, kind.plural, subresource, verbs]),
  );
  expect(listed).toEqual([
    ...[robotKind, machineVersion, noteKind].flatMap(({ group, plural, verbs, subresources, fieldSubresources }) => [
      [group, plural, undefined, verbs],
      ...subresources.map(({ name }) => [group, plural, name, ['create']]),
      ...fieldSubresources.map(({ name, verbs: ofSubresource }) => [group, plural, name, ofSubresource]),
    ]),
    ['', 'questions', undefined, ['create']],
  ]);
});

test.each(endpoints.map((endpoint) => [titleOf(endpoint), endpoint] as const))(
  '%s is routed to a handler',
  async (_, { method, path }) => {
    const target = path.replace('{namespace}', 'n').replace('{name}', 'missing');
    const { status, body } = await pipeline.ask(method, target, { headers: { 'content-type': 'text/plain' } });
    // A router without the endpoint responds with 405, or with 404 and this message.
    expect(status).not.toBe(405);
    expect(body instanceof Buffer ? body.toString() : '').not.toContain('could not find the requested resource');
  },
);
