import fs from 'node:fs';
import { http2Client } from '@cluster-apiserver/testkit/api-client';
import { namespaces, serviceAccountsPath } from './attack.ts';
import type { ClusterFiles } from '../../test/hostile/server-process.ts';

const gets = 3_000;
const getsAtOnce = 32;
const listRounds = 5;
const encodings = [
  'application/json',
  'application/yaml',
  'application/json;as=Table;g=meta.k8s.io;v=v1',
  'application/vnd.kubernetes.protobuf',
];

/** Requests every encoding, so that V8 has compiled the code before anything is measured: a server runs for weeks. */
export async function warmUp({ ca, token, replica }: ClusterFiles): Promise<void> {
  const credentials = { ca: fs.readFileSync(ca), token: fs.readFileSync(token, 'utf8').trim() };
  const client = http2Client(replica().url, credentials);
  const ask = (path: string, accept: string): Promise<unknown> => client.request('GET', path, { headers: { accept } });
  try {
    let left = gets;
    const loop = async (): Promise<void> => {
      while (left-- > 0) await ask(serviceAccountsPath(namespaces.polite, 'polite'), 'application/json');
    };
    await Promise.all(Array.from({ length: getsAtOnce }, loop));
    for (let round = 0; round < listRounds; round++)
      for (const accept of encodings) await ask(`${serviceAccountsPath(namespaces.small)}?limit=1000`, accept);
  } finally {
    client.close();
  }
}
