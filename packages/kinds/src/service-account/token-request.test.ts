import { beforeEach, describe, expect, test } from '@jest/globals';
import type { StatusError } from '@cluster-apiserver/model';
import { parseJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import type { ServiceAccountTokens } from '../index.ts';
import { tokenRequest } from './token-request.ts';

const issuedAtMs = Date.UTC(2026, 0, 1, 12, 0, 0, 700);
const account: KubeObject = { metadata: { name: 'robot', namespace: 'team', uid: 'u-1' } };

let issued: unknown[];
let warned: string[];
let annotated: string[][];
beforeEach(() => {
  issued = [];
  warned = [];
  annotated = [];
});

function ask(spec: string, lifetimeSecondsMax?: number, uid = '', dryRun = false): Promise<KubeObject> {
  const tokens: ServiceAccountTokens = {
    audiences: ['us'],
    lifetimeSecondsMax,
    issue: async (...asked) => {
      issued.push(asked);
      return { token: 'signed', issuedAtMs, credentialId: 'JTI=1' };
    },
  };
  const { schema, create } = tokenRequest(tokens);
  const { value } = parseJson(`{"metadata":{"name":"robot","namespace":"team","uid":"${uid}"},"spec":${spec}}`);
  return create(
    account,
    decode(schema, value, () => {}),
    {
      find: async (kind, name) => (kind === 'Secret' && name === 'kept' ? { name, uid: 's-1' } : undefined),
      dryRun,
      warn: (text) => warned.push(text),
      annotate: (...annotation) => annotated.push(annotation),
    },
  );
}

const refusal = async (spec: string): Promise<StatusError> => {
  const error: unknown = await ask(spec).catch((thrown: unknown) => thrown);
  expect(issued).toEqual([]);
  return error as StatusError;
};

describe('a token is issued', () => {
  test.each([
    ['{}', ['us'], 3600],
    ['null', ['us'], 3600],
    ['{"audiences":[],"expirationSeconds":null}', ['us'], 3600],
    ['{"audiences":["x","us","x"]}', ['x', 'us', 'x'], 3600],
    ['{"expirationSeconds":600}', ['us'], 600],
    ['{"expirationSeconds":4294967296}', ['us'], 4_294_967_296],
  ])('for %s', async (spec, audiences, lifetimeSeconds) => {
    expect(await ask(spec)).toMatchObject({
      metadata: { name: 'robot', namespace: 'team', creationTimestamp: '2026-01-01T12:00:00Z' },
      spec: { audiences, expirationSeconds: lifetimeSeconds },
      status: {
        token: 'signed',
        expirationTimestamp: `${new Date(issuedAtMs + lifetimeSeconds * 1000).toISOString().slice(0, 19)}Z`,
      },
    });
    expect(issued).toEqual([
      [
        { namespace: 'team', name: 'robot', uid: 'u-1' },
        { audiences, lifetimeSeconds },
      ],
    ]);
    expect(warned).toEqual([]);
    expect(annotated).toEqual([['authentication.kubernetes.io/issued-credential-id', 'JTI=1']]);
  });

  test('for a dry run, which does not return it', async () => {
    const { status } = (await ask('{}', undefined, '', true)) as KubeObject & { readonly status: object };
    expect(status).toEqual({ token: '', expirationTimestamp: expect.any(String) });
    expect(annotated).toEqual([]);
  });

  test('for at most the maximum lifetime, with a warning for longer requests', async () => {
    expect(await ask('{"expirationSeconds":7200}', 7200)).toMatchObject({ spec: { expirationSeconds: 7200 } });
    expect(warned).toEqual([]);
    expect(await ask('{"expirationSeconds":7201}', 7200)).toMatchObject({ spec: { expirationSeconds: 7200 } });
    expect(warned).toEqual(['requested expiration of 7201 seconds shortened to 7200 seconds']);
  });
});

test('a request may name the UID of its account', async () => {
  expect(await ask('{}', undefined, 'u-1')).toMatchObject({ status: { token: 'signed' } });
});

describe('no token is issued', () => {
  test('for a UID that another account of the name has had', async () => {
    await expect(ask('{}', undefined, 'u-0')).rejects.toMatchObject({
      code: 409,
      message:
        'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (u-0) does not match the UID of the service account (u-1)',
      details: { name: 'robot', group: 'authentication.k8s.io', kind: 'TokenRequest' },
    });
    expect(issued).toEqual([]);
  });

  test.each(['Pod', 'Secret', 'Node'])('that is bound to a %s without a name', async (kind) => {
    expect(await refusal(JSON.stringify({ boundObjectRef: { kind, apiVersion: 'v1' } }))).toMatchObject({
      reason: 'BadRequest',
      message: 'Name parameter required.',
    });
  });

  test.each([
    ['0', 'less than 10 minutes'],
    ['-1', 'less than 10 minutes'],
    ['599', 'less than 10 minutes'],
    ['4294967297', 'larger than 2^32 seconds'],
    ['9223372036854775807', 'larger than 2^32 seconds'],
    ['-9223372036854775808', 'less than 10 minutes'],
  ])('that would live %s seconds', async (seconds, problem) => {
    const error = await refusal(`{"expirationSeconds":${seconds}}`);
    expect(error).toMatchObject({
      reason: 'Invalid',
      details: {
        group: 'authentication.k8s.io',
        kind: 'TokenRequest',
        causes: [{ reason: 'FieldValueInvalid', field: 'spec.expirationSeconds' }],
      },
    });
    expect(error.message).toContain(`Invalid value: ${seconds}: may not specify a duration ${problem}`);
  });

  test.each([
    ['Secret', 'v1', 'secrets'],
    ['Pod', 'v1', 'pods'],
    ['Node', '', 'nodes'],
  ])('that is bound to a %s of %j, which does not exist', async (kind, apiVersion, plural) => {
    expect(await refusal(JSON.stringify({ boundObjectRef: { kind, apiVersion, name: 'a' } }))).toMatchObject({
      reason: 'NotFound',
      message: `${plural} "a" not found`,
      details: { kind: plural, name: 'a' },
    });
  });

  test.each([
    ['ConfigMap', 'v1', '/v1, Kind=ConfigMap'],
    ['Secret', 'x.example/v1', 'x.example/v1, Kind=Secret'],
    ['constructor', 'v1', '/v1, Kind=constructor'],
    ['', '', '/, Kind='],
  ])('that is bound to a %j of %j, to which none can be', async (kind, apiVersion, type) => {
    expect(await refusal(JSON.stringify({ boundObjectRef: { kind, apiVersion, name: 'a' } }))).toMatchObject({
      reason: 'BadRequest',
      message: `cannot bind token to object of type ${type}`,
    });
  });
});

describe('a token that is bound to a secret', () => {
  const bound = (uid?: string): string =>
    JSON.stringify({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'kept', ...(uid && { uid }) } });

  test.each([undefined, 's-1'])('is issued for the UID %j', async (uid) => {
    expect(await ask(bound(uid))).toMatchObject({ status: { token: 'signed' } });
    expect(issued).toEqual([[expect.anything(), expect.objectContaining({ secret: { name: 'kept', uid: 's-1' } })]]);
  });

  test('is refused for the UID of an earlier secret', async () => {
    expect(await refusal(bound('s-0'))).toMatchObject({
      code: 409,
      details: { name: 'kept', kind: 'Secret' },
      message: expect.stringContaining('the UID in the bound object reference (s-0) does not match'),
    });
  });
});

test('the UID of another account is a conflict, and that of this one is not', async () => {
  const error = await ask('{}', undefined, 'u-2').catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 409, reason: 'Conflict', message: expect.stringContaining('u-2') });
  expect(issued).toEqual([]);
  expect(await ask('{}', undefined, 'u-1')).toMatchObject({ status: { token: 'signed' } });
});
