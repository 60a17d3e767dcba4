import fs from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
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
  const session = connect(replica().url, { ca: fs.readFileSync(ca) });
  const authorization = `Bearer ${fs.readFileSync(token, 'utf8').trim()}`;
  const ask = (path: string, accept: string): Promise<void> => readResponse(session, { path, accept, authorization });
  try {
    let left = gets;
    const loop = async (): Promise<void> => {
      while (left-- > 0) await ask(serviceAccountsPath(namespaces.polite, 'polite'), 'application/json');
    };
    await Promise.all(Array.from({ length: getsAtOnce }, loop));
    for (let round = 0; round < listRounds; round++)
      for (const accept of encodings) await ask(`${serviceAccountsPath(namespaces.small)}?limit=1000`, accept);
  } finally {
    session.close();
  }
}

function readResponse(
  session: ClientHttp2Session,
  { path, ...headers }: { readonly path: string; readonly accept: string; readonly authorization: string },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ':path': path, ...headers });
    stream.on('error', reject);
    stream.on('close', resolve);
    stream.resume();
    stream.end();
  });
}
