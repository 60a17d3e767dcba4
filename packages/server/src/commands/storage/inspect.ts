import type { StoredKinds } from '@cluster-apiserver/registry';
import { listPages, type StorageScan } from './list-pages.ts';

/** Long enough for the prefix of any provider and key. */
const prefixBytesMax = 512;

/** Counts stored objects by resource and encryption provider. Those that another etcd serves are left over from before. */
export async function inspect(scans: readonly StorageScan[], storedKinds: StoredKinds): Promise<number> {
  const counts = new Map<string, number>();
  for (const scan of scans)
    for await (const entries of listPages(scan, undefined))
      for (const entry of entries) {
        const kind = storedKinds.ofKey(entry.key);
        const resource = kind?.storage.prefix ?? entry.key.slice(scan.keyPrefix.length + 1).split('/', 1)[0];
        const left = kind && !scan.holds(kind) ? ` (left in ${scan.id})` : '';
        const how = entry.unreadable ? 'unreadable' : findProvider(entry.value);
        const row = `${resource}${left}\t${how}`;
        counts.set(row, (counts.get(row) ?? 0) + 1);
      }
  const [first] = scans;
  first?.print('RESOURCE\tSTORED AS\tOBJECTS');
  for (const [row, count] of [...counts].sort(([one], [other]) => (one < other ? -1 : 1)))
    first?.print(`${row}\t${count}`);
  return 0;
}

/** The provider prefix of a value, without control characters, which a terminal would interpret. */
const findProvider = (value: Buffer): string => {
  const begin = value.toString('utf8', 0, prefixBytesMax);
  const known = /^k8s:enc:[a-z]+:v\d:[^:\p{Cc}]+:/u.exec(begin)?.[0];
  if (known) return known;
  return begin.startsWith('k8s:enc:') ? 'encrypted by something unknown' : 'in clear';
};
