import type { Clock, Random } from '@cluster-apiserver/base';
import { createAuthority, newPrivateKey, openAuthority } from '@cluster-apiserver/certificates';
import fs from 'node:fs';
import path from 'node:path';
import { readIfThere, replaceFile } from './files.ts';
import { developer } from './developer.ts';
import type { Home } from './home.ts';

/** Only whoever started the cluster may read its keys and tokens. */
const secret = 0o600;

/**
 * Who the cluster is, who may administer it and who may develop on it. Authority, tokens and the key that signs tokens of
 * service accounts stay the same over restarts, so that a copied kubeconfig stays good; the server's certificate is made
 * anew each time and so never runs out.
 */
export async function writeCredentials(home: Home, address: string, clock: Clock, random: Random): Promise<void> {
  fs.mkdirSync(home.pki, { recursive: true, mode: 0o700 });
  const authority = await authorityIn(home.pki, clock, random);
  const server = await authority.issueForServer({ commonName: 'cluster-apiserver', hosts: ['localhost', '127.0.0.1'] });
  const adminToken = tokenIn(home.adminToken, random);
  const developerToken = tokenIn(home.developerToken, random);
  if (readIfThere(home.signingKey) === undefined) replaceFile(home.signingKey, await newPrivateKey(), secret);
  replaceFile(home.ca, authority.certificate);
  replaceFile(home.serverCertificate, server.certificate);
  replaceFile(home.serverKey, server.privateKey, secret);
  replaceFile(
    home.tokenFile,
    `${adminToken},admin,admin,"system:masters"\n${developerToken},${developer.user},${developer.user}\n`,
    secret,
  );
  const cluster = { address, ca: authority.certificate };
  replaceFile(home.kubeconfig, kubeconfig({ ...cluster, user: 'admin', token: adminToken }), secret);
  const ofDeveloper = { ...cluster, ...developer, token: developerToken };
  replaceFile(home.developerKubeconfig, kubeconfig(ofDeveloper), secret);
}

/** The token of last time, or a new one. */
function tokenIn(file: string, random: Random): string {
  const token = readIfThere(file) ?? `${random.uuid()}${random.uuid()}`.replaceAll('-', '');
  replaceFile(file, token, secret);
  return token;
}

async function authorityIn(pki: string, clock: Clock, random: Random): ReturnType<typeof createAuthority> {
  const [certificateFile, keyFile] = [path.join(pki, 'ca.crt'), path.join(pki, 'ca.key')];
  const [certificate, privateKey] = [readIfThere(certificateFile), readIfThere(keyFile)];
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
  /** The namespace of commands that name none; `default` if it is left out. */
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
