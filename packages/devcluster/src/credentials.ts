import type { Clock, Random } from '@cluster-apiserver/base';
import { createAuthority, newPrivateKey, openAuthority } from '@cluster-apiserver/certificates';
import fs from 'node:fs';
import path from 'node:path';
import { readIfThere, replaceFile } from './files.ts';
import type { Home } from './home.ts';

/** Only whoever started the cluster may read its keys and tokens. */
const secret = 0o600;

/**
 * Who the cluster is and who may administer it. Authority, token and the key that signs tokens of service accounts stay
 * the same over restarts, so that a copied kubeconfig stays good; the server's certificate is made anew each time and so
 * never runs out.
 */
export async function writeCredentials(home: Home, address: string, clock: Clock, random: Random): Promise<void> {
  fs.mkdirSync(home.pki, { recursive: true, mode: 0o700 });
  const authority = await authorityIn(home.pki, clock, random);
  const server = await authority.issueForServer({ commonName: 'cluster-apiserver', hosts: ['localhost', '127.0.0.1'] });
  const token = readIfThere(home.adminToken) ?? `${random.uuid()}${random.uuid()}`.replaceAll('-', '');
  if (readIfThere(home.signingKey) === undefined) replaceFile(home.signingKey, await newPrivateKey(), secret);
  replaceFile(home.ca, authority.certificate);
  replaceFile(home.serverCertificate, server.certificate);
  replaceFile(home.serverKey, server.privateKey, secret);
  replaceFile(home.adminToken, token, secret);
  replaceFile(home.tokenFile, `${token},admin,admin,"system:masters"\n`, secret);
  replaceFile(home.kubeconfig, kubeconfig(address, authority.certificate, token), secret);
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

const kubeconfig = (address: string, ca: string, token: string): string => `apiVersion: v1
kind: Config
clusters:
- name: local
  cluster:
    server: ${address}
    certificate-authority-data: ${Buffer.from(ca).toString('base64')}
users:
- name: admin
  user:
    token: ${token}
contexts:
- name: local
  context:
    cluster: local
    user: admin
current-context: local
`;
