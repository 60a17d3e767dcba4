/** A real kube-apiserver, without nodes and controllers. KUBE_APISERVER_BIN names the program. */
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { endProcess } from './child-process.ts';
import { type RealEtcd, startEtcd } from './etcd.ts';
import { freePorts } from './free-ports.ts';
import { requestHttps } from './https-request.ts';
import { until } from './until.ts';

export const kubeApiserverProgram = process.env.KUBE_APISERVER_BIN;

export interface KubeApiserver {
  readonly url: string;
  /** Of a member of `system:masters`. */
  readonly token: string;
  readonly certificate: Buffer;
  readonly pid: number;
  readonly etcd: { readonly url: string; readonly pid: number };
  request(method: string, path: string, body?: object): Promise<KubeResponse>;
  stop(): Promise<void>;
}

export interface KubeResponse {
  readonly status: number;
  readonly warnings: string;
  readonly body: string;
}

export interface KubeApiserverOptions {
  /** In addition to those that it needs. A later flag replaces an earlier one. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A running etcd, which is not stopped; by default the server gets its own. */
  readonly etcd?: RealEtcd;
}

const token = 'administrator';
const startMaxMs = 120_000;

export async function startKubeApiserver({
  flags = [],
  env = {},
  etcd: running,
}: KubeApiserverOptions = {}): Promise<KubeApiserver> {
  const scope = new CleanupStack();
  const stop = (): Promise<void> => scope.close((what, error) => console.error(what, error));
  try {
    const home = fs.mkdtempSync(path.join(os.tmpdir(), 'kube-apiserver-'));
    scope.defer('files', () => fs.rmSync(home, { recursive: true, force: true }));
    const etcd = running ?? (await startEtcd());
    if (!running) scope.defer('etcd', () => etcd.stop());
    const [member] = etcd.members;
    const [port] = await freePorts(1);
    const url = `https://127.0.0.1:${port}`;
    const child = spawn(kubeApiserverProgram ?? '', [...flagsFor(home, etcd.endpoints, port), ...flags], {
      stdio: ['ignore', 'ignore', fs.openSync(path.join(home, 'log'), 'w')],
      env: { ...process.env, ...env },
    });
    scope.defer('kube-apiserver', () => endProcess(child, 'SIGKILL'));
    const certificate = path.join(home, 'apiserver.crt');
    const request: KubeApiserver['request'] = (method, target, body) =>
      send(`${url}${target}`, method, fs.readFileSync(certificate), body);
    const isReady = async (): Promise<true | undefined> => {
      if (child.exitCode !== null) throw new Error(fs.readFileSync(path.join(home, 'log'), 'utf8').slice(-2_000));
      if (!fs.existsSync(certificate)) return undefined;
      const response = await request('GET', '/readyz').catch(() => undefined); // it does not listen yet
      return response?.status === 200 ? true : undefined;
    };
    await until('kube-apiserver', isReady, startMaxMs);
    const ownEtcd = { url: member?.endpoint ?? '', pid: member?.pid ?? 0 };
    return { url, token, certificate: fs.readFileSync(certificate), pid: child.pid ?? 0, etcd: ownEtcd, request, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function flagsFor(home: string, endpoints: readonly string[], port: number | undefined): readonly string[] {
  const write = (name: string, content: string): string => {
    const file = path.join(home, name);
    fs.writeFileSync(file, content);
    return file;
  };
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const key = write('service-accounts.key', privateKey);
  return [
    `--etcd-servers=${endpoints.join()}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${home}`,
    `--token-auth-file=${write('tokens.csv', `${token},admin,,system:masters\n`)}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    '--endpoint-reconciler-type=none',
    // No controller creates the ServiceAccount `default` of a namespace.
    '--disable-admission-plugins=ServiceAccount',
  ];
}

async function send(url: string, method: string, ca: Buffer, body?: object): Promise<KubeResponse> {
  const type = method === 'PATCH' ? 'application/apply-patch+yaml' : 'application/json';
  const options = { method, ca, token, body, ...(body && { headers: { 'content-type': type } }) };
  const { status, headers, text } = await requestHttps(url, options);
  return { status, warnings: headers.warning ?? '', body: text };
}
