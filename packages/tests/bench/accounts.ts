/** Service accounts for benchmarks, written directly to the store. */
import { randomUUID } from 'node:crypto';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';

const namespaces = 100;
const writers = 32;

export const namespaceOf = (n: number): string => `n-${n % namespaces}`;
export const nameOf = (n: number): string => `account-${n}`;
export const keyOf = (n: number): string => `/registry/serviceaccounts/${namespaceOf(n)}/${nameOf(n)}`;

export function valueOf(n: number, round: number, bytes: number): Buffer {
  const metadata = {
    name: nameOf(n),
    namespace: namespaceOf(n),
    uid: randomUUID(),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { number: String(n), round: String(round) },
    annotations: { note: 'x'.repeat(Math.max(0, bytes - 300)) },
  };
  return bytesOf(encodeStored({ kind: 'ServiceAccount', apiVersion: 'v1', metadata } satisfies KubeObject));
}

/** Runs `work` for each number, several at a time. */
export async function forEach(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: writers }, worker));
}
