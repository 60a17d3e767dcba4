/** What clients and backends make a replica keep, all at once, in a small heap. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { text } from 'node:stream/consumers';
import { CleanupStack } from '@cluster-apiserver/base';
import { http2Client } from '@cluster-apiserver/testkit/api-client';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { type HttpsServer, startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { kubeconfig } from '../kubeconfig.ts';
import { type Replica, type Replicas, startReplicas } from '../operations/replicas.ts';
import { collectGarbage } from './inspector.ts';

const slowTestMs = 120_000;
const heapMegabytes = 512;
/** Measured: 158. Selectors take up to 64 MiB, users 32 and their copies, the audit queue 32, decisions 16, spans 26. */
const grownMegabytesMax = 200;

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

let replicas: Replicas;
let replica: Replica;
let inspectorPort = 0;

beforeAll(async () => {
  const etcd = await startEtcd({ encrypted: true });
  cleanup.defer('etcd', () => etcd.stop());
  const [tokens, decisions, audit] = await Promise.all([serve(authenticate), serve(decide), serve(() => undefined)]);
  const collector = await startReceiver();
  collector.ready = new Promise(() => {});
  cleanup.defer('collector', () => collector.stop());
  [inspectorPort = 0] = await freePorts(1);
  replicas = await startReplicas({
    etcdEndpoints: etcd.endpoints,
    replicas: [
      {
        nodeOptions: [`--max-old-space-size=${heapMegabytes}`, `--inspect-port=127.0.0.1:${inspectorPort}`],
        files: {
          'tokens.yaml': kubeconfigOf(tokens),
          'decisions.yaml': kubeconfigOf(decisions),
          'audit.yaml': kubeconfigOf(audit),
          'policy.yaml': JSON.stringify({
            apiVersion: 'audit.k8s.io/v1',
            kind: 'Policy',
            rules: [{ level: 'RequestResponse' }],
          }),
          'tracing.yaml': JSON.stringify({
            apiVersion: 'apiserver.config.platform.io/v1',
            kind: 'TracingConfiguration',
            endpoint: collector.address,
            samplingRatePerMillion: 1_000_000,
          }),
        },
        flags: [
          '--authentication-token-webhook-config-file=file:tokens.yaml',
          '--authentication-token-webhook-version=v1',
          '--authorization-mode=Webhook',
          '--authorization-webhook-config-file=file:decisions.yaml',
          '--authorization-webhook-version=v1',
          '--audit-policy-file=file:policy.yaml',
          '--audit-webhook-config-file=file:audit.yaml',
          '--tracing-config-file=file:tracing.yaml',
        ],
      },
    ],
  });
  cleanup.defer('replica', () => replicas.stop());
  [replica] = replicas.all as [Replica];
}, slowTestMs);

const users = 100;
const denials = 300;
const targets = 600;
const longCharacters = 60_000;

test(
  'selectors, users, denials, targets, and backends that hang leave room in a heap of 512 MB',
  async () => {
    const before = await collectGarbage(replica.pid, inspectorPort);
    const watching = await openWatchesUntilRefused();
    expect(watching).toBeGreaterThan(100);
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    const statuses = new Set([
      ...(await sendAll(users, (at) => [`large-${at}`, accounts])),
      ...(await sendAll(denials, (at) => ['denied', `${accounts}/account-number-${at}`])),
    ]);
    expect(statuses).toEqual(new Set([403]));
    const answered = await sendAll(targets, (at) => [
      'reader',
      `/api/v1/namespaces/namespace-number-${at}/serviceaccounts?pad=${'x'.repeat(longCharacters)}`,
    ]);
    expect(new Set(answered)).toEqual(new Set([200]));
    expect((await collectGarbage(replica.pid, inspectorPort)) - before).toBeLessThan(grownMegabytesMax);
    expect((await replica.request('GET', accounts)).status).toBe(200);
  },
  slowTestMs,
);

/** The number of watches that were not refused; they stay open. */
async function openWatchesUntilRefused(): Promise<number> {
  const streamsOfSession = 50;
  for (let watches = 0, of = session(); watches < 1_000; watches++) {
    if (watches % streamsOfSession === streamsOfSession - 1) of = session();
    const selector = Array.from({ length: 1_000 }, (_, at) => `!name-${watches}-${at}`).join(',');
    const path = `/api/v1/namespaces/default/serviceaccounts?watch=true&labelSelector=${encodeURIComponent(selector)}`;
    const stream = send(of, 'reader', path);
    const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status': number }];
    if (status === 429) return watches;
    expect(status).toBe(200);
  }
  throw new Error('no watch was refused');
}

async function sendAll(count: number, requestOf: (at: number) => [token: string, path: string]): Promise<number[]> {
  const atOnce = 10;
  const client = http2Client(replica.url, { ca: replicas.ca });
  cleanup.defer('client', () => client.close());
  const statusOf = async (at: number): Promise<number> => {
    const [token, path] = requestOf(at);
    return (await client.request('GET', path, { headers: { authorization: `Bearer ${token}` } })).status;
  };
  const statuses: number[] = [];
  for (let sent = 0; sent < count; sent += atOnce)
    statuses.push(...(await Promise.all(Array.from({ length: atOnce }, (_, at) => statusOf(sent + at)))));
  return statuses;
}

function session(): ClientHttp2Session {
  const opened = connect(replica.url, { ca: replicas.ca });
  opened.on('error', () => {}); // requests fail with it
  cleanup.defer('session', () => opened.destroy());
  return opened;
}

const send = (of: ClientHttp2Session, token: string, path: string): ClientHttp2Stream => {
  const stream = of.request({ ':path': path, authorization: `Bearer ${token}` });
  stream.on('error', () => {}); // the session ends with the test
  return stream;
};

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec?: Spec;
}
type Spec = Readonly<Record<string, unknown>>;
type Answer = (spec: Spec) => object | undefined;

/** A webhook that answers with a status, or never. */
async function serve(answer: Answer): Promise<HttpsServer> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { apiVersion, kind, spec } = JSON.parse(await text(request)) as Review;
    const status = answer(spec ?? {});
    if (status) response.end(JSON.stringify({ apiVersion, kind, status }));
  };
  const server = await startHttpsServer(
    (request, response) => void respond(request, response).catch(() => request.destroy()),
  );
  cleanup.defer('webhook', () => server.stop());
  return server;
}

const authenticate: Answer = (spec) => {
  const username = String(spec['token']);
  const groups = username.startsWith('large-')
    ? Array.from({ length: 45 }, (_, at) => `${at}`.padEnd(20_000, 'g'))
    : [];
  return { authenticated: true, user: { username, groups } };
};

const decide: Answer = (spec) =>
  spec['user'] === 'reader' ? { allowed: true } : { allowed: false, denied: true, reason: 'no'.repeat(450_000) };

const kubeconfigOf = ({ origin, authority }: HttpsServer): string =>
  kubeconfig({
    server: `${origin}/`,
    'certificate-authority-data': Buffer.from(authority).toString('base64'),
  });
