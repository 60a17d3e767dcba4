/** An operator of controller-runtime, twice, on three replicas that restart. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority } from '@cluster-apiserver/certificates';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { type ClientProgram, noClients, operatorProgram, startProgram } from '../clients/client-programs.ts';
import { describeIf } from '../describe-if.ts';
import { type Client, type ClientResponse, http1Client } from '@cluster-apiserver/testkit/api-client';
import { type Replicas, startReplicas } from '../operations/replicas.ts';
import { configurations, definition, group, lampsIn, service } from './lamps.ts';
import { createObject } from './create-object.ts';
import { startService } from './service.ts';

const slowTestMs = 300_000;
const convergeMs = 60_000;
const lampsEach = repetitions({ ci: 10, soak: 100 });
const deletedEach = lampsEach / 2;

describeIf(fs.existsSync(operatorProgram), 'an operator', noClients, () => {
  const cleanup = new CleanupStack();
  let replicas: Replicas;
  let clients: readonly Client[];
  let operators: readonly Operator[];

  beforeAll(async () => {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    const [port = 0, ...ports] = await freePorts(3);
    const flags = [`--admission-webhook-services=${service.namespace}/${service.name}=127.0.0.1:${port}`];
    replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{ flags }, { flags }, { flags }] });
    cleanup.defer('replicas', () => replicas.stop());
    clients = [...replicas.all.map(({ url }) => url), replicas.front].map((url) => http1Client(url, replicas));
    for (const client of clients) cleanup.defer('client', () => client.close());
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'operator-'));
    cleanup.defer('home', () => fs.rmSync(home, { recursive: true }));
    const caBundle = await issueCertificate(home);
    const [client] = clients as readonly [Client];
    await createObject(client, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition(caBundle));
    await until('the kind', async () => (await client.request('GET', lampsIn('v1'))).status === 200 || undefined);
    operators = ports.map((webhooks) => {
      const start = (): ClientProgram =>
        startProgram(operatorProgram, ['KUBECONFIG', home, `${webhooks}`], { ...replicas, url: replicas.front });
      const operator: Operator = { program: start(), restart: () => (operator.program = start()) };
      cleanup.defer('operator', () => operator.program.end());
      return operator;
    });
    const reachable = await startService(port, ports);
    cleanup.defer('service', () => reachable.stop());
    for (const [configuration, body] of configurations(caBundle)) await createObject(client, configuration, body);
    await until('the webhooks', async () => {
      const probe = lamp('v1', 'probe', { watts: 1 });
      return (await client.request('POST', lampsIn('v1'), { body: probe })).status === 201 || undefined;
    });
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  test('its webhooks set a default, refuse a change, and say why they cannot convert', async () => {
    const [client] = clients as readonly [Client];
    const post = (version: string, name: string, spec: object): Promise<ClientResponse> =>
      client.request('POST', lampsIn(version), { body: lamp(version, name, spec) });
    expect(await post('v1', 'plain', { color: 'white' })).toMatchObject({
      status: 201,
      body: expect.stringContaining('"spec":{"color":"white","watts":40}'),
    });
    const body = { spec: { color: 'red' } };
    expect(await client.request('PATCH', `${lampsIn('v1')}/plain`, { body })).toMatchObject({
      status: 403,
      body: expect.stringContaining('a lamp keeps its color'),
    });
    expect(await post('v1beta1', 'bright', { power: 'bright' })).toMatchObject({
      status: 500,
      body: expect.stringContaining('is no number of watts'),
    });
  });

  test(
    'lamps get their state, keep it in both versions and are switched off, whatever restarts',
    async () => {
      const changed = clients.map((client, at) => changeLamps(client, `client-${at}`));
      await killLeader(operators);
      for (const replica of replicas.all) {
        await replica.end('SIGKILL');
        await replica.start();
      }
      const lamps = (await Promise.all(changed)).flat();
      expect(lamps).toHaveLength(lampsEach * clients.length);
      await converge(clients, lamps);

      const deleted = clients.map((client, at) =>
        deleteLamps(client, lamps.slice(at * lampsEach).slice(0, deletedEach)),
      );
      await killLeader(operators);
      for (const replica of replicas.all) {
        await replica.end('SIGTERM');
        await replica.start();
      }
      const off = new Set((await Promise.all(deleted)).flat());
      await converge(
        clients,
        lamps.map((one) => (off.has(one.name) ? { ...one, watts: undefined } : one)),
      );
    },
    slowTestMs,
  );
});

interface Operator {
  program: ClientProgram;
  restart(): void;
}

interface Expected {
  readonly name: string;
  readonly color: string;
  /** Undefined for a deleted lamp. */
  readonly watts: number | undefined;
}

interface Shown {
  readonly metadata: {
    readonly name: string;
    readonly generation: number;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly watts?: number; readonly color?: string; readonly power?: string };
  readonly status?: { readonly lit?: boolean; readonly observedGeneration?: number };
  readonly data?: Readonly<Record<string, string>>;
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const lamp = (version: string, name: string, spec: object): object => ({
  apiVersion: `${group}/${version}`,
  kind: 'Lamp',
  metadata: { name },
  spec,
});
const specOf = (version: string, watts: number): object => (version === 'v1' ? { watts } : { power: `${watts} W` });
const versions = ['v1', 'v1beta1'] as const;

/** Creates lamps in one version, and changes them in the other one. */
async function changeLamps(client: Client, prefix: string): Promise<readonly Expected[]> {
  const all: Expected[] = [];
  for (let at = 0; at < lampsEach; at++) {
    const [first, second] = at % 2 === 0 ? versions : versions.toReversed();
    const name = `${prefix}-${at}`;
    const color = first === 'v1' ? 'white' : '';
    const spec = { ...specOf(first, 1 + at), ...(color && { color }) };
    expect([201, 409]).toContain(await statusOf(client, 'POST', lampsIn(first), lamp(first, name, spec)));
    const tooMany = lamp(second, `${name}-refused`, specOf(second, 101));
    expect(await statusOf(client, 'POST', lampsIn(second), tooMany)).toBe(403);
    const watts = 50 + (at % 50);
    const changed = { spec: specOf(second, watts) };
    expect(await statusOf(client, 'PATCH', `${lampsIn(second)}/${name}`, changed)).toBe(200);
    all.push({ name, color, watts });
  }
  return all;
}

async function deleteLamps(client: Client, lamps: readonly Expected[]): Promise<readonly string[]> {
  for (const [at, { name }] of lamps.entries())
    expect([200, 404]).toContain(await statusOf(client, 'DELETE', `${lampsIn(versions[at % 2] ?? 'v1')}/${name}`));
  return lamps.map(({ name }) => name);
}

/** It starts again, as one of two. */
async function killLeader(operators: readonly Operator[]): Promise<void> {
  const isLeader = ({ program }: Operator): boolean => program.errors.includes('Starting workers');
  const leader = await until('a leader', () => operators.find(isLeader), convergeMs);
  await leader.program.end('SIGKILL');
  leader.restart();
}

async function converge(clients: readonly Client[], expected: readonly Expected[]): Promise<void> {
  const isDone = async (): Promise<boolean> => (await unfinished(clients, expected)).length === 0;
  // The comparison below reports what is not.
  await until('the state of all lamps', async () => (await isDone()) || undefined, convergeMs).catch(() => {});
  expect(await unfinished(clients, expected)).toEqual([]);
}

/** Sent again while a replica or the webhooks are away. */
const statusOf = (client: Client, method: string, target: string, body?: object): Promise<number> =>
  until(
    `${method} ${target}`,
    async () => {
      const response = await client
        .request(method, target, body && { body })
        .catch((): ClientResponse | undefined => undefined); // the replica has stopped
      return response && response.status < 500 && response.status !== 429 ? response.status : undefined;
    },
    convergeMs,
  );

/** What is not yet, or never, as it should be. */
async function unfinished(clients: readonly Client[], expected: readonly Expected[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [at, client] of clients.entries()) {
    const [lit, beta, maps] = (await Promise.all(
      [lampsIn('v1'), lampsIn('v1beta1'), configMaps].map((target) => namedItems(client, target)),
    )) as [Items, Items, Items];
    for (const { name, color, watts } of expected) {
      const shown = [lit.get(name), beta.get(name)].map((one) => one && summary(one));
      const colored = color && { color };
      const state = { watts, isLit: true, ...colored };
      const wanted = watts === undefined ? [undefined, undefined] : [state, state];
      const power = maps.get(`power-${name}`)?.data?.['watts'];
      const isOff = maps.has(`off-${name}`);
      if (!isDeepStrictEqual(shown, wanted) || power !== watts?.toString() || isOff !== (watts === undefined))
        wrong.push(`${at}: ${name}: ${JSON.stringify({ shown, wanted, power, isOff })}`);
    }
  }
  return wrong;
}

type Items = ReadonlyMap<string, Shown>;

async function namedItems(client: Client, target: string): Promise<Items> {
  const { status, body } = await client.request('GET', target);
  expect(status).toBe(200);
  const { items } = JSON.parse(body) as { readonly items: readonly Shown[] };
  return new Map(items.map((item) => [item.metadata.name, item]));
}

/** Equal for both versions. */
function summary({ metadata: { generation, annotations }, spec = {}, status = {} }: Shown): object {
  const color = spec.color ?? annotations?.[`${group}/color`];
  return {
    watts: spec.watts ?? Number(spec.power?.replace(/ W$/, '')),
    isLit: status.lit === true && status.observedGeneration === generation,
    ...(color !== undefined && { color }),
  };
}

async function issueCertificate(home: string): Promise<string> {
  const authority = await createAuthority('webhooks', clock, systemRandom());
  const hosts = [`${service.name}.${service.namespace}.svc`];
  const { certificate, privateKey } = await authority.issueForServer({ commonName: 'webhooks', hosts });
  fs.writeFileSync(path.join(home, 'tls.crt'), certificate);
  fs.writeFileSync(path.join(home, 'tls.key'), privateKey, { mode: 0o600 });
  return Buffer.from(authority.certificate).toString('base64');
}
