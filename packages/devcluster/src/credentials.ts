import type { Clock, Random } from '@cluster-apiserver/base';
import { createAuthority, generatePrivateKey, openAuthority } from '@cluster-apiserver/certificates';
import fs from 'node:fs';
import path from 'node:path';
import { readIfExists, replaceFile } from './files.ts';
import { developer } from './developer.ts';
import type { Home } from './home.ts';

/** Only the user who started the cluster may read its keys and tokens. */
const secret = 0o600;

/**
 * Writes the credentials of the cluster, its administrator and its developer. CA, tokens and the service account signing key
 * are kept across restarts, so that copied kubeconfigs stay valid; the server certificate is issued at each start, so it does
 * not expire.
 */
export async function writeCredentials(home: Home, address: string, clock: Clock, random: Random): Promise<void> {
  fs.mkdirSync(home.pki, { recursive: true, mode: 0o700 });
  const authority = await openOrCreateAuthority(home, clock, random);
  const server = await authority.issueForServer({ commonName: 'cluster-apiserver', hosts: ['localhost', '127.0.0.1'] });
  const adminToken = readOrCreateToken(home.adminToken, random);
  const developerToken = readOrCreateToken(home.developerToken, random);
  if (readIfExists(home.signingKey) === undefined) replaceFile(home.signingKey, await generatePrivateKey(), secret);
  replaceFile(home.ca, authority.certificate);
  replaceFile(home.serverCertificate, server.certificate);
  replaceFile(home.serverKey, server.privateKey, secret);
  replaceFile(
    home.tokenFile,
    `${adminToken},admin,admin,"system:masters"\n${developerToken},${developer.user},${developer.user}\n`,
    secret,
  );
  const cluster = { address, ca: authority.certificate };
  replaceFile(home.formatKubeconfig, kubeconfig({ ...cluster, user: 'admin', token: adminToken }), secret);
  const ofDeveloper = { ...cluster, ...developer, token: developerToken };
  replaceFile(home.developerKubeconfig, kubeconfig(ofDeveloper), secret);
}

/** Keeps the token of the previous start. */
function readOrCreateToken(file: string, random: Random): string {
  const token = readIfExists(file) ?? `${random.uuid()}${random.uuid()}`.replaceAll('-', '');
  replaceFile(file, token, secret);
  return token;
}

async function openOrCreateAuthority(
  { pki, authorityKey: keyFile }: Home,
  clock: Clock,
  random: Random,
): ReturnType<typeof createAuthority> {
  const certificateFile = path.join(pki, 'ca.crt');
  const [certificate, privateKey] = [readIfExists(certificateFile), readIfExists(keyFile)];
  if (certificate && privateKey) return openAuthority({ certificate, privateKey }, clock, random);
  const authority = await createAuthority('cluster-apiserver local authority', clock, random);
  replaceFile(keyFile, authority.privateKey, secret);
  replaceFile(certificateFile, authority.certificate);
  return authority;
}

interface Access {
  readonly address: string;
  readonly ca: string;
  readonly user: string;
  readonly token: string;
  /** Default namespace of commands; `default` if undefined. */
  readonly namespace?: string;
}

const kubeconfig = ({ address, ca, user, token, namespace }: Access): string => `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: ${address}
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
users:
- name: ${user}
  user:
    token: ${token}
contexts:
- name: local
  context:
    cluster: local
    user: ${user}
${namespace === undefined ? '' : `    namespace: ${namespace}\n`}current-context: local
`;
