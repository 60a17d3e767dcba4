/** Starts the whole server with a real etcd and the kinds that a test chooses. */
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { basename, dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { type JsonResponse, readJson } from '@cluster-apiserver/testkit/json-response';
import { openHttps } from '@cluster-apiserver/testkit/https-request';
import { CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { mastersGroup } from '@cluster-apiserver/gates';
import type { KindServices } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import { listen } from '@cluster-apiserver/pipeline';
import { assemble, auditFiles, parseFlags, type Server, type Environment } from '@cluster-apiserver/server';
import { http2Connect, kmsV1Service, kmsV2Service } from '@cluster-apiserver/storage';
import { createLog } from '@cluster-apiserver/telemetry';
import { createEncryptionConfiguration } from '@cluster-apiserver/testkit/encryption-configuration';
import { withoutNamespaceObjects } from '@cluster-apiserver/testkit/without-namespace-objects';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';

export interface TestServer {
  /** As at SIGTERM, before connections drain. */
  beginShutdown(): void;
  /** For separate clients: the server's URL and certificate, and an administrator's token. */
  readonly url: string;
  readonly certificate: Buffer;
  readonly token: string;
  /** Sends a request as administrator and returns the response when its headers have arrived. */
  open(method: string, path: string, body?: object | string, type?: string): Promise<IncomingMessage>;
  request(method: string, path: string, body?: object | string, type?: string): Promise<JsonResponse>;
  /** Of a response that may be no JSON. */
  statusOf(method: string, path: string, body?: object): Promise<number>;
  metricsPage(): Promise<string>;
  /** Writes a file of the server. */
  write(path: string, content: string): Promise<void>;
  readonly etcd: RealEtcd;
  /** The server's log so far. */
  readonly logLines: readonly string[];
  readonly metrics: Server['metrics'];
  /** What is served; a test may add kinds to it. */
  readonly api: Server['api'];
  close(): Promise<void>;
}

export interface TestServerOptions {
  readonly flags?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  /** An existing etcd, which is not stopped; by default the server gets its own. */
  readonly etcd?: RealEtcd;
  /** Whether the test expects errors in the log; others are printed. */
  readonly errorsExpected?: boolean;
  /** For a server that cannot write yet. By default, the server is returned once the default roles exist. */
  readonly withoutDefaultRoles?: boolean;
  /** What is closed after the server, or if it does not start. */
  readonly cleanup?: CleanupStack;
}

const token = 'secret';
const encryptionFlag = '--encryption-provider-config';
/** For tests of values in clear; by default the server encrypts, as production does. */
export const withoutEncryption = `${encryptionFlag}=`;

export async function serveKinds(
  kinds: (services: KindServices) => readonly Kind[],
  {
    flags: more = [],
    files: given = {},
    etcd: running,
    errorsExpected = false,
    withoutDefaultRoles = false,
    cleanup = new CleanupStack(),
  }: TestServerOptions = {},
): Promise<TestServer> {
  const encryption = more.find((flag) => flag.startsWith(`${encryptionFlag}=`));
  const searchesForCanary = encryption !== undefined && encryption !== withoutEncryption;
  const etcd = running ?? (await startEtcd({ encrypted: searchesForCanary }));
  if (!running) cleanup.defer('etcd', () => etcd.stop());
  const files = filesInMemory({
    'default-encryption.json': createEncryptionConfiguration(),
    ...given,
    tokens: `${token},admin,1,"${mastersGroup}"`,
  });
  const write = (line: string): void => console.error(line);
  const runtime = { version: 'v24.0.0', platform: 'linux', arch: 'x64' };
  const environment: Environment = {
    clock,
    random: systemRandom(),
    files,
    auditFiles,
    connectEtcd: http2Connect,
    connectKms: { v1: kmsV1Service, v2: kmsV2Service },
    listen,
    runtime,
    hostname: 'a-host',
    heap: () => ({ usedBytes: 1, limitBytes: 2 ** 30 }),
    write,
  };
  const flags = parseFlags([
    '--secure-port=0',
    '--bind-address=127.0.0.1',
    '--token-auth-file=tokens',
    `--etcd-servers=${etcd.endpoints.join(',')}`,
    ...(encryption === undefined ? [`${encryptionFlag}=default-encryption.json`] : []),
    ...withoutNamespaceObjects(more).filter((flag) => flag !== withoutEncryption),
  ]);
  const logLines: string[] = [];
  let isWaiting = false;
  const quiet = createLog({
    clock,
    format: 'text',
    verbosity: flags.v,
    pid: 1,
    write: (line) => {
      logLines.push(line);
      if (line.startsWith('E') && !errorsExpected && !isWaiting) write(line);
    },
  });
  const server = await assemble(flags, environment, quiet, kinds).catch(async (error: unknown) => {
    await cleanup.close();
    throw error;
  });
  cleanup.defer('server', () => server.close());

  const certificate = await files.read('certificates/apiserver.crt');
  const agent = new https.Agent({ keepAlive: true, ca: certificate });
  cleanup.defer('connections', () => agent.destroy());
  const open: TestServer['open'] = async (method, path, body, type = 'application/json') => {
    const headers = body ? { 'content-type': type } : {};
    return openHttps(`https://127.0.0.1:${server.port}${path}`, { agent, token, method, headers, body });
  };
  const statusOf: TestServer['statusOf'] = async (...request) => {
    const response = await open(...request);
    response.resume();
    return response.statusCode ?? 0;
  };
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    await cleanup.close((what, error) => failures.push(new Error(`closing the ${what} failed`, { cause: error })));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join('\n'));
  };
  const hasDefaultRoles = async (): Promise<true | undefined> => {
    const status = await statusOf('GET', '/readyz/poststarthook/rbac/bootstrap-roles');
    // The check does not exist if roles are not served.
    return status === 200 || status === 404 || undefined;
  };
  isWaiting = !withoutDefaultRoles;
  if (isWaiting)
    await until('the default roles', hasDefaultRoles).catch(async (error: unknown) => {
      await close();
      throw error;
    });
  isWaiting = false;
  return {
    beginShutdown: () => server.beginShutdown(),
    url: `https://127.0.0.1:${server.port}`,
    certificate,
    token,
    open,
    request: async (...request) => readJson(await open(...request)),
    statusOf,
    metricsPage: async () => text(await open('GET', '/metrics')),
    write: files.write,
    etcd,
    logLines,
    metrics: server.metrics,
    api: server.api,
    close,
  };
}

/** The server's files in memory, so that nothing needs to be cleaned up. */
function filesInMemory(initial: Readonly<Record<string, string>>): Environment['files'] {
  const contents = new Map(Object.entries(initial));
  return {
    read: async (path) => {
      const content = contents.get(path);
      if (content === undefined) throw Object.assign(new Error(`no file ${path}`), { code: 'ENOENT' });
      return Buffer.from(content);
    },
    list: async (directory) => {
      const names = [...contents.keys()].filter((path) => dirname(path) === directory).map((path) => basename(path));
      if (names.length === 0) throw new Error(`no directory ${directory}`);
      return names;
    },
    mode: async () => 0o600,
    write: async (path, content) => void contents.set(path, content),
  };
}
