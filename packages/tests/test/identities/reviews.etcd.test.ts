/** Reviews of users and their permissions. The conformance kit has the recorded responses. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { openHttps } from '@cluster-apiserver/testkit/https-request';
import { kinds, reviews, type ReviewServices } from '@cluster-apiserver/kinds';
import { encodeProtobuf, parseProtobuf } from '@cluster-apiserver/model/codec';
import type { Review } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds(kinds);
});
afterAll(() => server.close());

const all: readonly Review[] = reviews({} as ReviewServices); // only their declarations are used
const pathOf = ({ apiVersion, namespaced, plural }: Review): string =>
  `/apis/${apiVersion}${namespaced ? '/namespaces/a' : ''}/${plural}`;
const resource = { namespace: 'a', verb: 'list', resource: 'events' };
/** A valid request for each kind. */
const questions: Readonly<Record<string, object>> = {
  TokenReview: { token: 'x' },
  SelfSubjectReview: {},
  LocalSubjectAccessReview: { user: 'bob', resourceAttributes: resource },
  SelfSubjectAccessReview: { resourceAttributes: resource },
  SelfSubjectRulesReview: { namespace: 'a' },
  SubjectAccessReview: { user: 'bob', resourceAttributes: resource, extra: { scopes: ['one', 'two'] } },
};

describe.each(all.map((review) => [review.kind, review] as const))('%s', (kind, review) => {
  const names = { kind, apiVersion: review.apiVersion };
  const question = kind === 'SelfSubjectReview' ? names : { ...names, spec: questions[kind] };

  test('has the same response to JSON, YAML and protobuf', async () => {
    const path = pathOf(review);
    const asJson = await server.request('POST', path, question);
    expect(asJson).toMatchObject({ status: 201, body: names });
    expect(asJson.body).toHaveProperty('status');
    const asYaml = await server.request('POST', path, JSON.stringify(question), 'application/yaml');
    const bytes = encodeProtobuf(review.schema, question);
    const asProtobuf = parseProtobuf(await sendProtobuf(path, bytes), () => review.schema).value as typeof asJson.body;
    const decoded = decode(review.schema, asProtobuf, () => {});
    for (const { spec, status } of [asYaml.body, decoded]) expect({ spec, status }).toEqual(statusOf(asJson.body));
  });

  test('supports only create', async () => {
    const path = pathOf(review);
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      expect((await server.request(method, path)).status).toBe(405);
    expect((await server.request('GET', `${path}/x`)).status).toBe(404);
    const elsewhere = review.namespaced ? path.replace('/namespaces/a', '') : path.replace('/v1', '/v1/namespaces/a');
    expect((await server.request('POST', elsewhere, question)).status).toBe(404);
  });

  test.each([
    ['application/json;as=Table;v=v1;g=meta.k8s.io', 406],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io', 406],
    ['application/json;as=Table;v=v1;g=meta.k8s.io, application/json', 201],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,*/*', 201],
  ])('has no table: the Accept header %s gets status %i', async (accept, status) => {
    const response = await send(pathOf(review), Buffer.from(JSON.stringify(question)), 'application/json', accept);
    const body = JSON.parse((await buffer(response)).toString());
    expect([response.statusCode, body]).toMatchObject([
      status,
      status === 201 ? names : { kind: 'Status', apiVersion: 'v1', reason: 'NotAcceptable', code: 406 },
    ]);
  });

  test('is validated like other objects: another kind is rejected, unknown fields cause warnings', async () => {
    const path = pathOf(review);
    expect((await server.request('POST', path, { ...question, kind: 'Pod' })).status).toBe(400);
    expect((await server.request('POST', path, { ...question, surprise: 1 })).warnings).toHaveLength(1);
    expect((await server.request('POST', `${path}?fieldValidation=Strict`, { ...question, surprise: 1 })).status).toBe(
      400,
    );
  });
});

/** Without managedFields, which contain the time. */
const statusOf = ({ spec, status }: Readonly<Record<string, unknown>>): object => ({ spec, status });

async function sendProtobuf(path: string, body: Buffer): Promise<Buffer> {
  const type = 'application/vnd.kubernetes.protobuf';
  const response = await send(path, body, type, type);
  expect(response).toMatchObject({ statusCode: 201, headers: { 'content-type': type } });
  return buffer(response);
}

async function send(path: string, body: Buffer, type: string, accept: string): Promise<IncomingMessage> {
  const headers = { 'content-type': type, accept };
  const { certificate: ca, token } = server;
  return openHttps(server.url + path, { method: 'POST', ca, token, headers, body });
}

describe('an access review', () => {
  const sar = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  const local = '/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews';
  const causes = async (path: string, spec: object, metadata: object = {}): Promise<unknown> => {
    const { status, body } = await server.request('POST', path, { metadata, spec });
    expect(status).toBe(422);
    const { details } = body as unknown as { details: { causes: { field: string; message: string }[] } };
    return details.causes.map(({ field, message }) => `${field}: ${message}`);
  };

  test('is rejected with all validation errors', async () => {
    const nonResourceAttributes = { path: '/metrics', verb: 'get' };
    expect(await causes(sar, { resourceAttributes: resource, nonResourceAttributes }, { name: 'x' })).toEqual([
      expect.stringMatching(
        /^spec.nonResourceAttributes: .*cannot be specified in combination with resourceAttributes$/,
      ),
      'spec.user: Invalid value: "": at least one of user or group must be specified',
      'metadata: Invalid value: {"name":"x"}: must be empty',
    ]);
    expect(await causes(local, { user: 'bob', resourceAttributes: { ...resource, namespace: 'b' } })).toEqual([
      'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
    ]);
    expect(await causes(local, { user: 'bob', nonResourceAttributes })).toEqual([
      expect.stringContaining('disallowed on this kind of request'),
    ]);
    const fieldSelector = { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'Exists' }] };
    expect(await causes(sar, { user: 'b', resourceAttributes: { ...resource, fieldSelector } })).toEqual([
      expect.stringMatching(/^spec.resourceAttributes.fieldSelector.rawSelector: .*may not specified at the same time/),
    ]);
  });

  test('calls the authorizer for the named user, not for the caller', async () => {
    const review = async (spec: object): Promise<unknown> =>
      (await server.request('POST', sar, { spec })).body['status'];
    expect(await review({ user: 'bob', resourceAttributes: resource })).toEqual({ allowed: false });
    expect(await review({ groups: ['system:masters'], resourceAttributes: resource })).toEqual({ allowed: true });
    const own = { group: 'authorization.k8s.io', resource: 'selfsubjectaccessreviews', verb: 'create' };
    expect(await review({ user: 'bob', groups: ['system:authenticated'], resourceAttributes: own })).toMatchObject({
      allowed: true,
      reason: expect.stringContaining('"system:basic-user"'),
    });
    expect(await review({ user: 'bob', groups: ['system:unauthenticated'], resourceAttributes: own })).toEqual({
      allowed: false,
    });
  });
});
