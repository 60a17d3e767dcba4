/** What every kind gets without being named, a kind that a definition defines gets, too: records, labels and formats. */
import readline from 'node:readline';
import type { IncomingMessage } from 'node:http';
import { openHttps } from '@cluster-apiserver/testkit/https-request';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type AuditedServer, type AuditEvent, policyOf, serveAudited } from './audit/audited-server.ts';
import { lampDefinition } from './custom-sample.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const lamps = '/apis/workshop.example/v1/namespaces/team/lamps';
const lamp = (name: string, spec: object = { color: 'red' }): object => ({
  apiVersion: 'workshop.example/v1',
  kind: 'Lamp',
  metadata: { name },
  spec,
});

let etcd: RealEtcd;
let audited: AuditedServer;
beforeAll(async () => {
  etcd = await startEtcd();
  const policy = policyOf(
    { level: 'RequestResponse', resources: [{ group: 'workshop.example', resources: ['lamps', 'lamps/status'] }] },
    { level: 'None' },
  );
  audited = await serveAudited({ etcd, policy, flags: ['--v=3'] });
  await request('POST', definitions, lampDefinition);
  await until('the kind', async () => (await statusOf(lamps)) === 200 || undefined);
});
afterAll(async () => {
  await audited.close();
  await etcd.stop();
});

const request = (...args: Parameters<AuditedServer['server']['request']>): Promise<JsonResponse> =>
  audited.server.request(...args);

const statusOf = (path: string): Promise<number> => audited.server.statusOf('GET', path);

describe('Audit events', () => {
  const completed = async (part: string): Promise<AuditEvent> =>
    until(`the event of ${part}`, async () =>
      audited.events().find(({ requestURI, stage }) => requestURI.includes(part) && stage === 'ResponseComplete'),
    );
  const objectRef = {
    resource: 'lamps',
    namespace: 'team',
    apiGroup: 'workshop.example',
    apiVersion: 'v1',
    name: 'audited',
  };

  test('have the object, the request and the response of each verb', async () => {
    await request('POST', `${lamps}?of=create`, lamp('audited'));
    const { body } = await request('GET', `${lamps}/audited?of=get`);
    await request('PUT', `${lamps}/audited?of=update`, { ...body, spec: { color: 'blue' } });
    await request('PATCH', `${lamps}/audited?of=patch`, { spec: { watts: 7 } }, 'application/merge-patch+json');
    await request(
      'PATCH',
      `${lamps}/audited/status?of=status`,
      { status: { bulbs: 1 } },
      'application/merge-patch+json',
    );
    await request('POST', `${lamps}?of=refused`, lamp('audited', { color: '' }));
    await request('DELETE', `${lamps}/audited?of=delete`);
    await request('DELETE', `${lamps}?of=collection&fieldSelector=metadata.name%3Daudited`);
    const object = { kind: 'Lamp', apiVersion: 'workshop.example/v1', metadata: { name: 'audited' } };
    expect(await completed('of=create')).toMatchObject({
      verb: 'create',
      objectRef,
      // As sent, without the default that the response has.
      requestObject: { ...object, spec: { color: 'red' } },
      responseObject: { ...object, spec: { color: 'red', watts: 40 } },
      responseStatus: { code: 201 },
    });
    expect(await completed('of=get')).toMatchObject({ verb: 'get', objectRef, responseObject: object });
    expect(await completed('of=update')).toMatchObject({ verb: 'update', responseObject: { spec: { color: 'blue' } } });
    expect(await completed('of=patch')).toMatchObject({
      verb: 'patch',
      requestObject: { spec: { watts: 7 } },
      responseObject: { spec: { color: 'blue', watts: 7 } },
    });
    expect(await completed('of=status')).toMatchObject({
      verb: 'patch',
      objectRef: { ...objectRef, subresource: 'status' },
      responseObject: { status: { bulbs: 1 } },
    });
    expect(await completed('of=refused')).toMatchObject({
      verb: 'create',
      responseStatus: { code: 422, reason: 'Invalid' },
      responseObject: { kind: 'Status', details: { kind: 'Lamp', group: 'workshop.example' } },
    });
    expect(await completed('of=delete')).toMatchObject({ verb: 'delete', responseObject: { kind: 'Status' } });
    expect(await completed('of=collection')).toMatchObject({
      verb: 'deletecollection',
      responseObject: { kind: 'LampList', items: [] },
    });
    // The rule of the policy selects the group.
    expect(audited.events().filter(({ objectRef: of }) => of?.['apiGroup'] !== 'workshop.example')).toEqual([]);
  });
});

describe('Metrics and the log', () => {
  const series = async (): Promise<string[]> =>
    (await audited.server.metricsPage()).split('\n').filter((line) => line.includes('lamps'));

  test('name group, version and resource', async () => {
    await request('GET', `${lamps}/missing`);
    expect(await series()).toContainEqual(
      expect.stringMatching(
        /^apiserver_request_total\{(?=.*code="404")(?=.*group="workshop.example")(?=.*resource="lamps")(?=.*verb="GET")(?=.*version="v1").*\} 1$/,
      ),
    );
    const lines = audited.server.logLines.filter((line) => line.includes('/lamps/missing'));
    expect(lines).toContainEqual(expect.stringContaining('resource="lamps.workshop.example"'));
  });

  test('have no series of names that clients make up', async () => {
    for (let at = 0; at < 20; at++)
      for (const path of [
        `/apis/workshop.example/v1/namespaces/team/lamps${at}`,
        `/apis/workshop.example/v${at + 2}/lamps`,
        `/apis/group-${at}.example/v1/lamps`,
        `${lamps}/name-${at}/part-${at}`,
      ])
        expect(await statusOf(path)).toBe(404);
    const labels = new Set(
      (await series()).flatMap((line) => Array.from(line.matchAll(/="([^"]*)"/g), ([, value = '']) => value)),
    );
    expect([...labels].filter((value) => /lamps\d|group-|v\d\d|part-|name-/.test(value))).toEqual([]);
  });
});

describe('A watch', () => {
  const opened: IncomingMessage[] = [];
  afterAll(() => {
    for (const response of opened) response.destroy();
  });

  /** The events about one object, from its creation to its deletion. */
  async function watch(accept: string, name: string): Promise<Record<string, unknown>[]> {
    const { url, certificate, token } = audited.server;
    const target = `${lamps}?watch=1&fieldSelector=metadata.name%3D${name}`;
    const response = await openHttps(`${url}${target}`, { ca: certificate, token, headers: { accept } });
    opened.push(response);
    expect(response.statusCode).toBe(200);
    await request('POST', lamps, lamp(name));
    await request('PATCH', `${lamps}/${name}`, { spec: { bulbs: 2 } }, 'application/merge-patch+json');
    await request('DELETE', `${lamps}/${name}`);
    const events: Record<string, unknown>[] = [];
    for await (const line of readline.createInterface(response)) {
      const event = JSON.parse(line) as { readonly type: string; readonly object: object };
      events.push({ type: event.type, ...event.object });
      if (event.type === 'DELETED') break;
    }
    return events;
  }

  test('delivers objects', async () => {
    const apiVersion = 'workshop.example/v1';
    expect(await watch('application/json', 'plain')).toMatchObject([
      { type: 'ADDED', apiVersion, kind: 'Lamp', spec: { color: 'red', watts: 40 } },
      { type: 'MODIFIED', spec: { color: 'red', watts: 40, bulbs: 2 } },
      { type: 'DELETED', metadata: { name: 'plain' }, spec: { bulbs: 2 } },
    ]);
  });

  test('delivers metadata alone', async () => {
    const events = await watch('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'partial');
    expect(events).toMatchObject([{ type: 'ADDED' }, { type: 'MODIFIED' }, { type: 'DELETED' }]);
    for (const event of events) {
      expect(event).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'partial' } });
      expect(event).not.toHaveProperty('spec');
    }
  });

  test('delivers rows of the columns of the definition', async () => {
    const [added, modified] = await watch('application/json;as=Table;v=v1;g=meta.k8s.io', 'row');
    expect(added).toMatchObject({
      kind: 'Table',
      columnDefinitions: [{ name: 'Name' }, { name: 'Color', type: 'string' }],
      rows: [{ cells: ['row', 'red'] }],
    });
    expect(modified).toMatchObject({ columnDefinitions: null, rows: [{ cells: ['row', 'red'] }] });
  });

  test('is selected by the fields of the definition', async () => {
    const response = await audited.server.open('GET', `${lamps}?watch=1&fieldSelector=spec.color%3Dgreen`);
    opened.push(response);
    for (const [name, color] of [
      ['red', 'red'],
      ['green', 'green'],
    ] as const)
      await request('POST', lamps, lamp(name, { color }));
    await request('PATCH', `${lamps}/red`, { spec: { color: 'green' } }, 'application/merge-patch+json');
    await request('PATCH', `${lamps}/green`, { spec: { color: 'blue' } }, 'application/merge-patch+json');
    const seen: string[] = [];
    for await (const line of readline.createInterface(response)) {
      const { type, object } = JSON.parse(line) as { type: string; object: { metadata: { name: string } } };
      if (seen.push(`${type} ${object.metadata.name}`) === 3) break;
    }
    expect(seen).toEqual(['ADDED green', 'ADDED red', 'DELETED green']);
  });
});

describe('An object', () => {
  beforeAll(async () => {
    await request('POST', lamps, lamp('fixed'));
  });

  test.each([
    [{ kind: 'Other' }, ['kind: Invalid value: "Other": must be Lamp']],
    [
      { kind: 'Other', apiVersion: 'x/v1' },
      ['kind: Invalid value: "Other": must be Lamp', 'apiVersion: Invalid value: "x/v1": must be workshop.example/v1'],
    ],
    [{ kind: 1, apiVersion: 2 }, ['patch: Invalid value: "": kind: cannot be changed to 1 in version 2']],
    [
      { kind: { toString: 1 } },
      ['patch: Invalid value: "": kind: cannot be changed to {} in version "workshop.example/v1"'],
    ],
    [{ apiVersion: {} }, ['patch: Invalid value: "": kind: cannot be changed to Lamp in version {}']],
  ])('cannot become one of another kind or version: %j', async (changed, causes) => {
    const { status, body } = await request('PATCH', `${lamps}/fixed`, changed, 'application/merge-patch+json');
    const { causes: found } = body['details'] as { readonly causes: readonly Record<string, string>[] };
    expect([status, ...found.map(({ field, message }) => `${field}: ${message}`)]).toEqual([422, ...causes]);
  });

  test('that is another one is not deleted, and the conflict names the kind with its group', async () => {
    const { status, body } = await request('DELETE', `${lamps}/fixed`, { preconditions: { uid: 'x' } });
    expect([status, body]).toMatchObject([
      409,
      { message: expect.stringMatching(/^Operation cannot be fulfilled on Lamp\.workshop\.example "fixed": the UID/) },
    ]);
  });
});
