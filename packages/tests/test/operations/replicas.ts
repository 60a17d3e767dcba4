/** Replicas of one cluster that differ: in flags, files, environment, and in where they find etcd. */
import { type ChildProcess, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority, generatePrivateKey } from '@cluster-apiserver/certificates';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { endProcess, isRunning } from '@cluster-apiserver/testkit/child-process';
import { builtLauncher } from '@cluster-apiserver/testkit/built-launcher';
import { withoutNamespaceObjects } from '@cluster-apiserver/testkit/without-namespace-objects';
import { createEncryptionConfiguration } from '@cluster-apiserver/testkit/encryption-configuration';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { StartError } from '@cluster-apiserver/testkit/repeatable-errors';
import { until } from '@cluster-apiserver/testkit/until';
import {
  type Client,
  type Credentials,
  http1Client,
  isReady,
  requestOnce,
} from '@cluster-apiserver/testkit/api-client';

export interface Replicas extends Credentials {
  /** Of the user "user", who has no rights. */
  readonly userToken: string;
  readonly all: readonly Replica[];
  /** The load balancer of `npm start`. */
  readonly front: string;
  /** Another serving certificate, which clients of these replicas trust. */
  issueServing(): Promise<Pair>;
  /** With the keys of all replicas. */
  readonly encryption: Buffer;
  stop(): Promise<void>;
}

/** PEM. */
export interface Pair {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface Replica {
  readonly url: string;
  readonly pid: number;
  /** What it has logged. */
  log(): string;
  /** The file of its own with this name. */
  file(name: string): string;
  client(): Client;
  /** On a connection of its own. */
  readonly request: Client['request'];
  /** Resolves when it is ready. */
  start(): Promise<void>;
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** The value of a metric, summed over its series that match; 0 if there are none. */
  metric(name: string, labels?: Readonly<Record<string, string>>): Promise<number>;
}

/** What a replica has of its own. */
interface Own {
  readonly etcdEndpoints?: readonly string[];
  /** Another build of the server. */
  readonly program?: string;
  readonly flags?: readonly string[];
  readonly nodeOptions?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** By name; flags and other files name them as `file:NAME`. */
  readonly files?: Readonly<Record<string, string>>;
  readonly encryption?: string;
}

interface Options {
  readonly etcdEndpoints: readonly string[];
  readonly replicas: readonly Own[];
  /** An EncryptionConfiguration that reads what any of them writes. */
  readonly encryption?: string;
}

const program = path.resolve(import.meta.dirname, '../../../server/dist/main.js');
/** On a busy machine. */
const startMs = 60_000;
const token = 'token-of-an-administrator';
const userToken = 'token-of-a-user';
export const encryptionFile = 'encryption.yaml';

export async function startReplicas({
  etcdEndpoints,
  replicas,
  encryption = createEncryptionConfiguration(),
}: Options): Promise<Replicas> {
  const cleanup = new CleanupStack();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'replicas-'));
  const write = (name: string, content: string): string => {
    const file = path.join(home, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, content, { mode: 0o600 });
    return file;
  };
  const stop = (): Promise<void> => cleanup.close((what, error) => console.error(what, error));
  try {
    cleanup.defer('files', () => fs.rmSync(home, { recursive: true, force: true }));
    const authority = await createAuthority('replicas', clock, systemRandom());
    const issueServing = (): Promise<Pair> =>
      authority.issueForServer({ commonName: 'replica', hosts: ['localhost', '127.0.0.1'] });
    const serving = await issueServing();
    const ca = Buffer.from(authority.certificate);
    const shared = [
      '--bind-address=127.0.0.1',
      `--token-auth-file=${write('tokens.csv', `${token},admin,1,"system:masters"\n${userToken},user,2\n`)}`,
      '--service-account-issuer=https://issuer.example.com',
      '--encryption-provider-config-automatic-reload=true',
      '--etcd-compaction-interval=0',
      '--shutdown-delay-duration=1s',
    ];
    const signingKey = await generatePrivateKey();
    const ports = await freePorts(replicas.length + 1);
    const all = replicas.map((own, at) => {
      const name = `replica-${at + 1}`;
      const files = {
        [encryptionFile]: own.encryption ?? encryption,
        'server.crt': serving.certificate,
        'server.key': serving.privateKey,
        'signing.key': signingKey,
        ...own.files,
      };
      const inHome = (text: string): string => text.replaceAll('file:', `${path.join(home, name)}/`);
      for (const [file, content] of Object.entries(files)) write(path.join(name, file), inHome(content));
      return replica({ port: ports[at] ?? 0, directory: path.join(home, name), access: { ca, token } }, own, [
        ...shared,
        `--etcd-servers=${(own.etcdEndpoints ?? etcdEndpoints).join(',')}`,
        ...[`--encryption-provider-config=file:${encryptionFile}`].map(inHome),
        ...['--tls-cert-file=file:server.crt', '--tls-private-key-file=file:server.key'].map(inHome),
        ...['--service-account-signing-key-file=file:signing.key', ...withoutNamespaceObjects(own.flags ?? [])].map(
          inHome,
        ),
      ]);
    });
    for (const one of all) cleanup.defer('replica', () => one.end('SIGTERM'));
    await Promise.all(all.map((one) => one.start()));
    write('ca.crt', authority.certificate);
    write('admin.token', token);
    const port = ports.at(-1) ?? 0;
    const front = spawn(process.execPath, [builtLauncher, 'front', home, `${port}`, ports.slice(0, -1).join(',')], {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    cleanup.defer('front', () => endProcess(front, 'SIGKILL'));
    const url = `https://127.0.0.1:${port}`;
    await untilReady(url, { ca, token });
    return { all, front: url, issueServing, ca, token, userToken, encryption: Buffer.from(encryption), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Place {
  readonly port: number;
  /** Of its files. */
  readonly directory: string;
  readonly access: Credentials;
}

function replica({ port, directory, access }: Place, own: Own, flags: readonly string[]): Replica {
  const url = `https://127.0.0.1:${port}`;
  let running: ChildProcess | undefined;
  let log = '';
  const request: Client['request'] = (...what) => requestOnce(url, access, ...what);
  return {
    url,
    get pid() {
      return running?.pid ?? 0;
    },
    log: () => log,
    file: (name) => path.join(directory, name),
    client: () => http1Client(url, access),
    request,
    start: async () => {
      const started = spawn(
        process.execPath,
        [...(own.nodeOptions ?? []), own.program ?? program, `--secure-port=${port}`, ...flags],
        {
          env: { ...process.env, ...own.env },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      running = started;
      for (const stream of [started.stdout, started.stderr]) stream.on('data', (text) => (log += text));
      await untilReady(url, access, started).catch((cause: unknown) => {
        throw new StartError(`the replica at ${url} did not start:\n${log}`, { cause });
      });
    },
    end: async (signal) => {
      if (running) await endProcess(running, signal);
    },
    metric: async (name, labels = {}) => {
      const { body } = await request('GET', '/metrics');
      const lines = body.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      const matching = lines.filter((line) =>
        Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)),
      );
      return matching.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
  };
}

const untilReady = (url: string, access: Credentials, running?: ChildProcess): Promise<true> =>
  until(
    'readiness',
    () => {
      if (running && !isRunning(running)) throw new Error('it has ended');
      return isReady(url, access);
    },
    startMs,
  );

/** Runs a test with three replicas on an etcd of their own. */
export async function withThreeReplicas(
  run: (replicas: Replicas, cleanup: CleanupStack) => Promise<void>,
): Promise<void> {
  const cleanup = new CleanupStack();
  try {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    const replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}, {}] });
    cleanup.defer('replicas', () => replicas.stop());
    await run(replicas, cleanup);
  } finally {
    await cleanup.close((what, error) => console.error(what, error));
  }
}
