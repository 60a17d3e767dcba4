import { callUntil } from '@cluster-apiserver/base';
import type { EtcdClient } from '@cluster-apiserver/storage';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** A common scrape interval. The size grows slowly. */
const pollMs = 30_000;
const timeoutMs = 5_000;

/** Publishes the database sizes until the returned function is called. The last value stays while etcd does not respond. */
export function publishDatabaseSizes(
  metrics: Metrics,
  etcds: readonly { readonly id: string; readonly client: Pick<EtcdClient, 'clock' | 'readDatabaseBytes'> }[],
): () => void {
  const size = metrics.gauge({
    name: 'apiserver_storage_size_bytes',
    help: 'Size of the storage database file physically allocated in bytes.',
    labels: { storage_cluster_id: etcds.map(({ id }) => id) },
  });
  const stops = etcds.map(({ id, client }) => pollSize(client, (bytes) => size.set({ storage_cluster_id: id }, bytes)));
  return () => {
    for (const stop of stops) stop();
  };
}

function pollSize(
  client: Pick<EtcdClient, 'clock' | 'readDatabaseBytes'>,
  publish: (bytes: number) => void,
): () => void {
  const { clock } = client;
  let cancel: (() => void) | undefined;
  let isOver = false;
  const poll = async (): Promise<void> => {
    await client.readDatabaseBytes(callUntil(clock.monotonicMs() + timeoutMs)).then(
      publish,
      () => {}, // the client itself reports an etcd that cannot be reached
    );
    if (!isOver) cancel = clock.after(pollMs, () => void poll());
  };
  void poll();
  return () => {
    isOver = true;
    cancel?.();
  };
}
