import fs from 'node:fs';
import { type ClientHttp2Session, connect } from 'node:http2';
import { namespaces, serviceAccountsPath } from './attack.ts';
import type { ClusterFiles } from '../../test/hostile/server-process.ts';

/** The objects that attacks list, watch and select from: counts of the security review and of issue 14. */
const objects = { large: { count: 4_000, bytes: 3_000 }, small: { count: 12_000, bytes: 1_000 } } as const;
const openRequestsMax = 64;

export async function seed({ ca, token, replica }: ClusterFiles): Promise<void> {
  const session = connect(replica().url, { ca: fs.readFileSync(ca) });
  const authorization = `Bearer ${fs.readFileSync(token, 'utf8').trim()}`;
  try {
    await create(session, authorization, namespaces.polite, 'polite', 100);
    for (const [namespace, { count, bytes }] of Object.entries(objects)) {
      let next = 0;
      const loop = async (): Promise<void> => {
        while (next < count) await create(session, authorization, namespace, `sa-${next++}`, bytes);
      };
      await Promise.all(Array.from({ length: openRequestsMax }, loop));
    }
  } finally {
    session.close();
  }
}

function create(
  session: ClientHttp2Session,
  authorization: string,
  namespace: string,
  name: string,
  bytes: number,
): Promise<void> {
  const labels = { app: 'bench', tier: name.slice(-1), name };
  const annotations = { filling: 'x'.repeat(bytes) };
  return new Promise((resolve, reject) => {
    const path = serviceAccountsPath(namespace);
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      authorization,
      'content-type': 'application/json',
    });
    let status: number | undefined;
    stream.on('response', (headers) => (status = headers[':status']));
    stream.on('error', reject);
    stream.on('close', () => (status === 201 ? resolve() : reject(new Error(`seeding failed with status ${status}`))));
    stream.resume();
    stream.end(JSON.stringify({ metadata: { name, labels, annotations } }));
  });
}
