import fs from 'node:fs';
import { http2Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { namespaces, serviceAccountsPath } from './attack.ts';
import type { ClusterFiles } from '../../test/hostile/server-process.ts';

/** The objects that attacks list, watch and select from: counts of the security review and of issue 14. */
const objects = { large: { count: 4_000, bytes: 3_000 }, small: { count: 12_000, bytes: 1_000 } } as const;
const openRequestsMax = 64;

export async function seed({ ca, token, replica }: ClusterFiles): Promise<void> {
  const credentials = { ca: fs.readFileSync(ca), token: fs.readFileSync(token, 'utf8').trim() };
  const client = http2Client(replica().url, credentials);
  const create = (namespace: string, name: string, bytes: number): Promise<string> => {
    const labels = { app: 'bench', tier: name.slice(-1), name };
    const annotations = { filling: 'x'.repeat(bytes) };
    const body = { metadata: { name, labels, annotations } };
    return requireSuccess(client, 'POST', serviceAccountsPath(namespace), { body });
  };
  try {
    await create(namespaces.polite, 'polite', 100);
    for (const [namespace, { count, bytes }] of Object.entries(objects)) {
      let next = 0;
      const loop = async (): Promise<void> => {
        while (next < count) await create(namespace, `sa-${next++}`, bytes);
      };
      await Promise.all(Array.from({ length: openRequestsMax }, loop));
    }
  } finally {
    client.close();
  }
}
