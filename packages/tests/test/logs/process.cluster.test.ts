/** The built server's standard error: whatever its reader does, the server keeps serving and terminates on request. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { createEncryptionConfiguration } from '@cluster-apiserver/testkit/encryption-configuration';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';

const program = path.resolve(import.meta.dirname, '..', '..', '..', 'server', 'dist', 'main.js');
const token = 'secret';
/** More than the pipe, the current write and the queue can hold together. */
const floodRequests = 6_000;
const connections = 20;
/** Time limit for the end of a process whose output is not read. */
const endMs = 20_000;

let etcd: RealEtcd;
let home: string;
let started: (() => Promise<void>)[];

beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'logs-'));
  started = [];
});
afterEach(async () => {
  for (const stop of started.toReversed()) await stop();
  fs.rmSync(home, { recursive: true });
});

interface Running {
  readonly child: ChildProcess;
  client(): Client;
}

/** Starts a server with the given standard error, and returns when it is ready. */
async function start(stderr: number | 'pipe', flags: readonly string[]): Promise<Running> {
  const [port] = await freePorts(1);
  const tokens = path.join(home, 'tokens');
  fs.writeFileSync(tokens, `${token},admin,1,"system:masters"\n`);
  const encryption = path.join(home, 'encryption.json');
  fs.writeFileSync(encryption, createEncryptionConfiguration());
  const args = [
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${home}`,
    `--token-auth-file=${tokens}`,
    `--encryption-provider-config=${encryption}`,
    `--etcd-servers=${etcd.endpoints.join(',')}`,
    `--etcd-prefix=/${path.basename(home)}`,
    ...flags,
  ];
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'ignore', stderr] });
  started.push(() => endProcess(child, 'SIGKILL'));
  const certificate = path.join(home, 'apiserver.crt');
  const client = (): Client => {
    const made = http1Client(`https://127.0.0.1:${port}`, { ca: fs.readFileSync(certificate), token });
    started.push(async () => made.close());
    return made;
  };
  await until('the server', async () => {
    if (!fs.existsSync(certificate)) return undefined;
    const answer = await client()
      .request('GET', '/readyz')
      .catch(() => undefined);
    return answer?.status === 200 ? true : undefined;
  });
  return { child, client };
}

/** Makes the server log more than unread buffers can hold; each request still gets a response. */
async function flood({ client }: Running): Promise<void> {
  let sent = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const own = client();
      while (sent < floodRequests) {
        const nth = sent++;
        expect((await own.request('GET', `/version?a=${'x'.repeat(200)}${nth}`)).status).toBe(200);
      }
      own.close();
    }),
  );
}

async function droppedLines({ client }: Running, reason: string): Promise<number> {
  const { body } = await client().request('GET', '/metrics');
  return Number(new RegExp(`^apiserver_log_lines_omitted_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(body)?.[1]);
}

async function waitForExit({ child }: Running): Promise<number | null> {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new Error(`the process was still running ${endMs} ms after SIGTERM`)), endMs);
    void exit.then(() => clearTimeout(timer));
  });
  const [code] = await Promise.race([exit, late]);
  return code as number | null;
}

/** Both ends of a pipe without other holders. */
function openPipe(): { readonly read: number; readonly write: number } {
  const fifo = path.join(home, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const read = fs.openSync(fifo, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  return { read, write: fs.openSync(fifo, 'w') };
}

/** The current content of a pipe. */
function drain(descriptor: number): string {
  const pieces: Buffer[] = [];
  const piece = Buffer.alloc(65_536);
  try {
    for (;;) {
      const bytes = fs.readSync(descriptor, piece);
      if (bytes === 0) break;
      pieces.push(Buffer.from(piece.subarray(0, bytes)));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  return Buffer.concat(pieces).toString();
}

test('an unread pipe delays no request, uses bounded memory, and later receives the count of dropped lines', async () => {
  const pipe = openPipe();
  const server = await start(pipe.write, ['--v=2', '--shutdown-delay-duration=0s']);
  fs.closeSync(pipe.write);
  await flood(server);
  expect(await droppedLines(server, 'backlog')).toBeGreaterThan(0);
  let text = '';
  const client = server.client();
  await until('the line about missing lines', async () => {
    text += drain(pipe.read);
    await client.request('GET', '/version');
    return /log\] "log lines dropped" count=\d+ remedy=/.test(text) ? true : undefined;
  });
  for (const line of text.trimEnd().split('\n').slice(0, -1)) expect(line).toMatch(/^[IWE]\d{4} .*\] ".*"/);
  expect(await waitForExit(server)).toBe(0);
  fs.closeSync(pipe.read);
});

test.each(['a pipe', 'a socket'])('%s that is full does not prevent the process from exiting', async (kind) => {
  const pipe = kind === 'a pipe' ? openPipe() : undefined;
  // For 'pipe', Node creates a socket, which is not read here.
  const server = await start(pipe?.write ?? 'pipe', ['--v=2', '--shutdown-delay-duration=0s']);
  await flood(server);
  expect(await waitForExit(server)).toBe(0);
  if (pipe) for (const descriptor of Object.values(pipe)) fs.closeSync(descriptor);
});

test.each(['a pipe', 'a socket'])('%s without a reader loses lines and has no other effect', async (kind) => {
  const pipe = kind === 'a pipe' ? openPipe() : undefined;
  const server = await start(pipe?.write ?? 'pipe', ['--v=2', '--shutdown-delay-duration=0s']);
  if (pipe) for (const descriptor of Object.values(pipe)) fs.closeSync(descriptor);
  else server.child.stderr?.destroy();
  const client = server.client();
  await until('lost lines', async () => {
    expect((await client.request('GET', '/version')).status).toBe(200);
    return (await droppedLines(server, 'output_error')) > 0 || undefined;
  });
  expect(await waitForExit(server)).toBe(0);
});

test('JSON lines are JSON, from the first to the last', async () => {
  const file = path.join(home, 'log');
  const descriptor = fs.openSync(file, 'a');
  const server = await start(descriptor, ['--v=2', '--logging-format=json', '--shutdown-delay-duration=0s']);
  fs.closeSync(descriptor);
  expect((await server.client().request('GET', '/version')).status).toBe(200);
  expect(await waitForExit(server)).toBe(0);
  const entries = fs
    .readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  for (const entry of entries)
    expect(entry).toMatchObject({
      ts: expect.any(Number),
      level: expect.stringMatching(/^(info|warning|error)$/),
      logger: expect.any(String),
      msg: expect.any(String),
      v: expect.any(Number),
    });
  expect(entries.find(({ URI }) => URI === '/version')).toMatchObject({
    logger: 'http',
    msg: 'HTTP',
    v: 2,
    verb: 'get',
    user: 'admin',
    resp: 200,
    latency: expect.stringMatching(/^\d+\.\d{3}ms$/),
  });
  expect(entries.at(-1)).toMatchObject({ msg: 'stopped' });
});
