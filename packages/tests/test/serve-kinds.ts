/** The whole server, as it is assembled, around kinds of a test's choice, with a real etcd behind it. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { basename, dirname } from 'node:path';
import { Scope, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { mastersGroup } from '@cluster-apiserver/gates';
import type { KindServices } from '@cluster-apiserver/kinds';
import type { Kind, KubeObject } from '@cluster-apiserver/model';
import { listen } from '@cluster-apiserver/pipeline';
import { assemble, auditFiles, parseFlags, type Server, type Environment } from '@cluster-apiserver/server';
import { http2Connect, kmsV1Service, kmsV2Service } from '@cluster-apiserver/storage';
import { createLog } from '@cluster-apiserver/telemetry';
import { until } from '../../base/test/until.ts';
import { type RealEtcd, startEtcd } from '../../storage/test/real-etcd.ts';

export interface ServedKinds {
  /** For clients of their own: where the server is, by which certificate it is known, and as whom to ask. */
  readonly url: string;
  readonly certificate: Buffer;
  readonly token: string;
  /** Sends a request as one who may do everything, and gives the answer as soon as it begins. */
  open(method: string, path: string, body?: object | string, type?: string): Promise<IncomingMessage>;
  ask(method: string, path: string, body?: object | string, type?: string): Promise<Answer>;
  /** Writes a file that the server may read. */
  write(path: string, content: string): Promise<void>;
  readonly etcd: RealEtcd;
  /** What the server has logged so far. */
  readonly logged: readonly string[];
  readonly metrics: Server['metrics'];
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly flags?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  /** One that is there already, and stays; else the server gets its own. */
  readonly etcd?: RealEtcd;
  /** Whether errors are part of the test, and none for who runs it. */
  readonly errorsExpected?: boolean;
  /** For a server that cannot write yet. Else it is given once everybody has the rights of the default roles. */
  readonly withoutDefaultRoles?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly warnings: readonly string[];
  /** An object, a list or a Status. */
  readonly body: KubeObject & { readonly items?: readonly KubeObject[] };
}

const token = 'secret';

export async function serveKinds(
  kinds: (services: KindServices) => readonly Kind[],
  {
    flags: more = [],
    files: given = {},
    etcd: running,
    errorsExpected = false,
    withoutDefaultRoles = false,
  }: ServeOptions = {},
): Promise<ServedKinds> {
  const scope = new Scope();
  const etcd =
    running ?? (await startEtcd({ encrypted: more.some((flag) => flag.startsWith('--encryption-provider-config=')) }));
  if (!running) scope.onClose('etcd', () => etcd.stop());
  const files = filesInMemory({ ...given, tokens: `${token},admin,1,"${mastersGroup}"` });
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
    heap: () => ({ usedBytes: 1, limitBytes: 2 ** 30 }),
    write,
  };
  const flags = parseFlags([
    '--secure-port=0',
    '--bind-address=127.0.0.1',
    '--token-auth-file=tokens',
    `--etcd-servers=${etcd.endpoints.join(',')}`,
    ...more,
  ]);
  const logged: string[] = [];
  let isWaiting = false;
  const quiet = createLog({
    clock,
    format: 'text',
    verbosity: flags.v,
    pid: 1,
    write: (line) => {
      logged.push(line);
      if (line.startsWith('E') && !errorsExpected && !isWaiting) write(line);
    },
  });
  const server = await assemble(flags, environment, quiet, kinds).catch(async (error: unknown) => {
    await scope.close();
    throw error;
  });
  scope.onClose('server', () => server.close());

  const certificate = await files.read('certificates/apiserver.crt');
  const agent = new https.Agent({ keepAlive: true, ca: certificate });
  scope.onClose('connections', () => agent.destroy());
  const open: ServedKinds['open'] = async (method, path, body, type = 'application/json') => {
    const bytes = Buffer.from(typeof body === 'object' ? JSON.stringify(body) : (body ?? ''));
    // Said for every method: Node sends the body of a DELETE without any frame otherwise.
    const ofBody = body && { 'content-type': type, 'content-length': bytes.length };
    const headers = { authorization: `Bearer ${token}`, ...ofBody };
    const request = https.request({ agent, host: '127.0.0.1', port: server.port, method, path, headers });
    request.end(bytes);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response;
  };
  const close = async (): Promise<void> => {
    const failures: unknown[] = [];
    await scope.close((what, error) => failures.push(new Error(`closing the ${what} failed`, { cause: error })));
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join('\n'));
  };
  const hasDefaultRoles = async (): Promise<true | undefined> => {
    const response = await open('GET', '/readyz/poststarthook/rbac/bootstrap-roles');
    response.resume();
    // There is no such check where roles are not served.
    return response.statusCode === 200 || response.statusCode === 404 || undefined;
  };
  isWaiting = !withoutDefaultRoles;
  if (isWaiting)
    await until('the default roles', hasDefaultRoles).catch(async (error: unknown) => {
      await close();
      throw error;
    });
  isWaiting = false;
  return {
    url: `https://127.0.0.1:${server.port}`,
    certificate,
    token,
    open,
    ask: async (...request) => {
      const response = await open(...request);
      const pieces: Buffer[] = [];
      for await (const piece of response) pieces.push(piece as Buffer);
      const warnings = response.headersDistinct.warning ?? [];
      return { status: response.statusCode ?? 0, warnings, body: JSON.parse(Buffer.concat(pieces).toString()) };
    },
    write: files.write,
    etcd,
    logged,
    metrics: server.metrics,
    close,
  };
}

/** The server's files without a disk: nothing is left behind. */
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
    write: async (path, content) => void contents.set(path, content),
  };
}
