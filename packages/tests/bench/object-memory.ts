/**
 * Measures the resident memory of a built replica that encrypts: without objects, after it has written them, and after a
 * start with them; at the end also without garbage.
 *
 *   node --conditions=source packages/tests/bench/object-memory.ts [objects, 100000 by default] [bytes of each, 1100] [--save]
 *
 * ETCD_BIN names etcd. Replica, etcd and this program share the cores.
 */
import { requireValue } from '@cluster-apiserver/base';
import { type Client, http1Client, isReady, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { collectGarbage } from '../test/hostile/inspector.ts';
import { readProcessState } from '../test/hostile/server-process.ts';
import { forEach, nameOf, namespaceOf, valueOf } from './accounts.ts';
import { args, saveSizing } from './save-measured.ts';

const [objects = 100_000, objectBytes = 1_100] = args.map(Number);
/** What the server adds to an object: a version, times and managed fields. */
const addedBytes = 220;
const accounts = (n: number): string => `/api/v1/namespaces/${namespaceOf(n)}/serviceaccounts`;

const cluster = await startCluster({ replicas: 1, etcdMembers: 1 });
try {
  const emptyMiB = await startAnew();
  console.log(`without objects: ${emptyMiB.toFixed(0)} MiB`);
  const client = http1Client(replica().url, cluster);
  await forEach(objects, (n) => create(client, n));
  const { length } = await requireSuccess(client, 'GET', `${accounts(0)}/${nameOf(0)}`);
  console.log(`${objects} written, the first has ${length} bytes: ${residentMiB().toFixed(0)} MiB`);
  client.close();
  const startedMiB = await startAnew();
  const started = perObject(startedMiB - emptyMiB);
  console.log(`after a start: ${startedMiB.toFixed(0)} MiB, ${started} each`);
  const heapMiB = await collectGarbage(replica().pid);
  const kept = perObject(residentMiB() - emptyMiB);
  console.log(`without garbage: ${residentMiB().toFixed(0)} MiB, ${heapMiB.toFixed(0)} of it V8's heap, ${kept} each`);
  if (objects === 100_000 && objectBytes === 1_100)
    saveSizing(
      'replica: memory of objects',
      `${startedMiB.toFixed(0)} MiB with 100,000 of 1.1 KB: ${started} each, ${kept} without garbage`,
    );
} finally {
  await cluster.stop();
}

async function create(client: Client, n: number): Promise<void> {
  const body = JSON.parse(valueOf(n, 0, objectBytes - addedBytes).toString()) as object;
  await requireSuccess(client, 'POST', accounts(n), { body });
}

/** The launcher starts another replica. Returns its memory when it serves reads. */
async function startAnew(): Promise<number> {
  const { pid } = replica();
  process.kill(pid, 'SIGKILL');
  await until('another replica', () => (replica().pid === pid ? undefined : isReady(replica().url, cluster)));
  return residentMiB();
}

function replica(): { readonly pid: number; readonly url: string } {
  return requireValue(cluster.pids().replicas[0]);
}

function residentMiB(): number {
  return requireValue(readProcessState(replica().pid)).residentMiB;
}

function perObject(mebibytes: number): string {
  return `${((mebibytes * 2 ** 20) / objects / 1_000).toFixed(2)} KB`;
}
