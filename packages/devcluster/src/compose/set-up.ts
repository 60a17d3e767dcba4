import type { Clock, Random } from '@cluster-apiserver/base';
import {
  type CertificateAuthority,
  createAuthority,
  type Credentials,
  generatePrivateKey,
  openAuthority,
} from '@cluster-apiserver/certificates';
import fs from 'node:fs';
import path from 'node:path';
import { readIfExists, replaceFile } from '../files.ts';
import { changeKeys, type EncryptionKey, type KeyChange, openEncryptionKeys } from './encryption-keys.ts';

/**
 * Creates credentials and configuration for docker-compose.yml. Each service mounts only the directory that it requires. CAs,
 * the signing key and the encryption key are created once; leaf certificates are issued at each start, so that they do not
 * expire in a cluster that is started now and then.
 */
export interface SetUpOptions {
  /** Directory below which the volumes are mounted. */
  readonly directory: string;
  /** Address of the load balancer for clients on the host. */
  readonly address: string;
  /** User of the services; undefined keeps the current user as the owner of all files. */
  readonly service: Owner | undefined;
  /** Owner of the credentials on the host. */
  readonly user: Owner | undefined;
  readonly clock: Clock;
  readonly random: Random;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const etcdMembers = ['etcd-1', 'etcd-2', 'etcd-3'];
/** The name of all of them, by which the load balancer and Prometheus find them, and those of each: more than docker-compose.yml starts. */
const replicas = ['apiserver', ...Array.from({ length: 9 }, (_, at) => `apiserver-${at + 1}`)];
/** The load balancer passes TLS through, so the certificates of the replicas also contain its names. */
const loadBalancer = ['load-balancer', 'localhost', '127.0.0.1', '::1'];
/** Volumes that services write to; new ones belong to root. */
const serviceDirectories = ['kms', ...[...etcdMembers, 'prometheus', 'grafana'].map((name) => path.join('data', name))];
const readable = 0o644;
const secret = 0o600;

export async function setUp(options: SetUpOptions): Promise<{ readonly kubeconfig: string }> {
  const { address, service, user, clock, random } = options;
  const at = (...names: string[]): string => path.join(options.directory, ...names);
  const kept = at('authorities');
  fs.mkdirSync(kept, { recursive: true, mode: 0o700 });
  const cluster = await openOrCreateAuthority(kept, 'cluster', clock, random);
  const etcd = await openOrCreateAuthority(kept, 'etcd', clock, random);

  const write = createWriter(service);
  write(at('etcd', 'ca.crt'), etcd.certificate);
  for (const member of etcdMembers) {
    const hosts = [member, 'localhost', '127.0.0.1'];
    writePair(write, at('etcd', member), await etcd.issueForPeer({ commonName: member, hosts }));
  }

  write(at('apiserver', 'ca.crt'), cluster.certificate);
  write(at('apiserver', 'etcd-ca.crt'), etcd.certificate);
  writePair(
    write,
    at('apiserver', 'etcd-client'),
    await etcd.issueForClient({ user: 'cluster-apiserver', groups: [] }),
  );
  const hosts = [...replicas, ...loadBalancer];
  writePair(write, at('apiserver', 'server'), await cluster.issueForServer({ commonName: 'cluster-apiserver', hosts }));
  const signingKey = await readOrCreate(path.join(kept, 'service-accounts.key'), generatePrivateKey);
  write(at('apiserver', 'service-accounts.key'), signingKey, secret);
  write(at('load-balancer', 'ca.crt'), cluster.certificate);
  // It passes TLS through, and answers by itself only if no replica lives.
  const own = await cluster.issueForServer({ commonName: 'load-balancer', hosts: loadBalancer });
  write(at('load-balancer', 'server.pem'), own.certificate + own.privateKey, secret);
  const dexHosts = ['dex', 'dex.localhost', 'localhost', '127.0.0.1'];
  writePair(write, at('dex', 'server'), await cluster.issueForServer({ commonName: 'dex', hosts: dexHosts }));
  write(at('prometheus-credentials', 'ca.crt'), cluster.certificate);
  const prometheus = await cluster.issueForClient({ user: 'prometheus', groups: ['system:monitoring'] });
  writePair(write, at('prometheus-credentials', 'prometheus'), prometheus);
  for (const folder of serviceDirectories) changeOwner(at(folder), service);

  writeConfiguration(at, write, cluster.certificate, openEncryptionKeys(kept, random));

  const writeForUser = createWriter(user);
  const kubeconfigs = [
    { user: 'admin', groups: ['system:masters'], file: 'kubeconfig' },
    { user: 'developer', groups: ['developers'], file: 'developer.kubeconfig' },
  ];
  for (const { file, ...subject } of kubeconfigs) {
    const issued = await cluster.issueForClient(subject);
    writePair(writeForUser, at('credentials', subject.user), issued);
    writeForUser(at('credentials', file), kubeconfig(address, cluster.certificate, subject.user, issued), secret);
  }
  writeForUser(at('credentials', 'ca.crt'), cluster.certificate);
  return { kubeconfig: at('credentials', 'kubeconfig') };
}

/** Changes the encryption keys, and writes the configuration of the replicas, which reload it. Returns the names of the keys. */
export function changeEncryptionKeys(
  change: KeyChange,
  { directory, service, random }: Pick<SetUpOptions, 'directory' | 'service' | 'random'>,
): readonly string[] {
  const at = (...names: string[]): string => path.join(directory, ...names);
  const keys = changeKeys(change, at('authorities'), random);
  writeConfiguration(at, createWriter(service), fs.readFileSync(at('authorities', 'cluster-ca.crt'), 'utf8'), keys);
  return keys.map(({ name }) => name);
}

/** The files of the replicas, with what is not under version control. */
function writeConfiguration(
  at: (...names: string[]) => string,
  write: Write,
  authority: string,
  keys: readonly EncryptionKey[],
): void {
  const values = { ENCRYPTION_KEYS: JSON.stringify(keys), CERTIFICATE_AUTHORITY: authority };
  for (const name of fs.readdirSync(at('config')).filter((entry) => entry.endsWith('.yaml')))
    write(at('apiserver', name), fillTemplate(fs.readFileSync(at('config', name), 'utf8'), values), secret);
}

export const getOwner = (file: string): Owner => fs.statSync(file);

async function openOrCreateAuthority(
  directory: string,
  name: string,
  clock: Clock,
  random: Random,
): Promise<CertificateAuthority> {
  const [certificateFile, keyFile] = [path.join(directory, `${name}-ca.crt`), path.join(directory, `${name}-ca.key`)];
  const [certificate, privateKey] = [readIfExists(certificateFile), readIfExists(keyFile)];
  if (certificate && privateKey) return openAuthority({ certificate, privateKey }, clock, random);
  const created = await createAuthority(`cluster-apiserver compose ${name} authority`, clock, random);
  replaceFile(keyFile, created.privateKey, secret);
  replaceFile(certificateFile, created.certificate);
  return created;
}

/** Reads a file, or creates it if it does not exist. */
async function readOrCreate(file: string, create: () => Promise<string>): Promise<string> {
  const content = readIfExists(file) ?? (await create());
  replaceFile(file, content, secret);
  return content;
}

type Write = (file: string, content: string, mode?: number) => void;

/** Sets the owner before the file gets its final name, so that its reader never sees it without permission. */
const createWriter =
  (owner: Owner | undefined): Write =>
  (file, content, mode = readable) => {
    changeOwner(path.dirname(file), owner);
    const next = `${file}.next`;
    fs.writeFileSync(next, content, { mode });
    if (owner) fs.chownSync(next, owner.uid, owner.gid);
    fs.renameSync(next, file);
  };

function writePair(write: Write, name: string, { certificate, privateKey }: Credentials): void {
  write(`${name}.key`, privateKey, secret);
  write(`${name}.crt`, certificate);
}

function changeOwner(directory: string, owner: Owner | undefined): void {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (owner) fs.chownSync(directory, owner.uid, owner.gid);
  fs.chmodSync(directory, 0o700);
}

/** Replaces `${NAME}` by its value; each line of the value gets the indentation of the first. */
function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/^( *)(.*)\$\{([A-Z_]+)\}/gm, (whole, indent: string, before: string, name: string) => {
    const value = values[name];
    return value === undefined ? whole : indent + before + value.trimEnd().replaceAll('\n', `\n${indent}`);
  });
}

const base64 = (content: string): string => Buffer.from(content).toString('base64');

const kubeconfig = (
  address: string,
  ca: string,
  user: string,
  { certificate, privateKey }: Credentials,
): string => `apiVersion: v1
kind: Config
clusters:
- name: compose
  cluster:
    server: ${address}
    certificate-authority-data: ${base64(ca)}
users:
- name: ${user}
  user:
    client-certificate-data: ${base64(certificate)}
    client-key-data: ${base64(privateKey)}
contexts:
- name: compose
  context:
    cluster: compose
    user: ${user}
current-context: compose
`;
