/** The whole server with an audit log in a real file, and optionally a real webhook. */
import { generateKeyPairSync } from 'node:crypto';
import fs from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import type { RealEtcd } from '@cluster-apiserver/testkit/etcd';
import { type HttpsServer, startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { kubeconfig } from '../kubeconfig.ts';

/** An audit event as written. */
export interface AuditEvent {
  readonly kind: string;
  readonly apiVersion: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number; readonly message?: string };
  readonly requestObject?: Readonly<Record<string, unknown>>;
  readonly responseObject?: Readonly<Record<string, unknown>>;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export interface AuditedServer {
  readonly server: TestServer;
  readonly directory: string;
  readonly logFile: string;
  /** Events of the log file and of its rotated backups. */
  events(): AuditEvent[];
  /** Waits for `count` events of requests whose URI contains `part`, and returns them. */
  waitForEvents(part: string, count: number): Promise<AuditEvent[]>;
  setPolicy(policy: object): Promise<void>;
  /** The value of a metric; `name` includes the labels. */
  metric(name: string): Promise<number | undefined>;
  close(): Promise<void>;
}

export interface AuditedServerOptions {
  readonly etcd: RealEtcd;
  readonly policy: object;
  readonly flags?: readonly string[];
  readonly files?: Readonly<Record<string, string>>;
  /** Path of the log, by default a file in the test's folder; empty for no log. */
  readonly logPath?: string;
}

export const policyOf = (...rules: object[]): object => ({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules });

const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
});
let servers = 0;

export async function serveAudited({
  etcd,
  policy,
  flags = [],
  files = {},
  logPath,
}: AuditedServerOptions): Promise<AuditedServer> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'audit-'));
  const removeDirectory = (): void => fs.rmSync(directory, { recursive: true, force: true });
  const logFile = logPath ?? path.join(directory, 'logs', 'audit.log');
  const server = await serveKinds(kinds, {
    etcd,
    errorsExpected: true,
    flags: [
      `--etcd-prefix=/audit-${process.pid}-${servers++}`,
      '--audit-policy-file=audit-policy',
      ...(logFile === '' ? [] : [`--audit-log-path=${logFile}`]),
      '--service-account-issuer=https://issuer.example.com',
      '--service-account-signing-key-file=signing-key',
      ...flags,
    ],
    files: { 'audit-policy': JSON.stringify(policy), 'signing-key': signingKey.toString(), ...files },
  }).catch((error: unknown) => {
    removeDirectory();
    throw error;
  });
  const events = (): AuditEvent[] =>
    fs
      .readdirSync(path.dirname(logFile))
      .filter((name) => name.startsWith('audit') && name.endsWith('.log'))
      .flatMap((name) => linesOf(path.join(path.dirname(logFile), name)))
      .map((line) => JSON.parse(line) as AuditEvent);
  let policies = 0;
  return {
    server,
    directory,
    logFile,
    events,
    waitForEvents: (part, count) =>
      until(`${count} events of ${part}`, async () => {
        const found = events().filter(({ requestURI }) => requestURI.includes(part));
        return found.length >= count ? found : undefined;
      }),
    setPolicy: async (next) => {
      await server.write('audit-policy', JSON.stringify(next));
      policies++;
      await until('the new policy', async () => {
        const loaded = server.logLines.filter((line) => line.includes('configuration="audit_policy"')).length;
        return loaded >= policies || undefined;
      });
    },
    metric: async (name) => {
      const line = (await server.metricsPage()).split('\n').find((one) => one.startsWith(`${name} `));
      return line === undefined ? undefined : Number(line.slice(name.length));
    },
    close: async () => {
      await server.close();
      removeDirectory();
    },
  };
}

const linesOf = (file: string): string[] => fs.readFileSync(file, 'utf8').split('\n').filter(Boolean);

/** An audit webhook that records the events it receives. */
export interface AuditReceiver {
  readonly server: HttpsServer;
  readonly events: AuditEvent[];
  readonly batches: number[];
  /** Content for --audit-webhook-config-file. */
  readonly kubeconfig: string;
  /** Responds to the following requests; accepts them by default. */
  respond: (response: ServerResponse) => void;
}

export async function startAuditReceiver(): Promise<AuditReceiver> {
  const events: AuditEvent[] = [];
  const batches: number[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = JSON.parse(await text(request)) as { kind: string; items: AuditEvent[] };
    const accepted = new Promise<void>((resolve) => response.once('finish', resolve));
    receiver.respond(response);
    await accepted;
    if (response.statusCode !== 200) return;
    events.push(...body.items);
    batches.push(body.items.length);
  };
  const server = await startHttpsServer(
    (request, response) => void receive(request, response).catch(() => request.destroy()),
  );
  const ca = Buffer.from(server.authority).toString('base64');
  const receiver: AuditReceiver = {
    server,
    events,
    batches,
    kubeconfig: kubeconfig({ server: `${server.origin}/events`, 'certificate-authority-data': ca }),
    respond: (response) => void response.end(),
  };
  return receiver;
}
