import { durationMs, boolean, etcdUrls, list, path } from '../flags/flag.ts';

/** etcd accepts no longer one; a shorter one is less than a round trip between its members. */
const electionTimeoutBoundsMs = [10, 50_000] as const;

/** etcd rejects longer leases. */
const leaseMsMax = 9_000_000_000_000;

/** Flags of etcd and of encryption at rest. */
export const etcdFlags = {
  'etcd-servers': etcdUrls('URLs of the etcd members; host:port means http.', 'http://127.0.0.1:2379'),
  'etcd-servers-overrides': list(
    'Kinds that have an etcd of their own: group/resource#url;url, separated by commas. The core group is empty, as in /events#http://10.0.0.9:2379. Custom kinds are allowed. The other flags of etcd hold for all.',
  ),
  'etcd-prefix': path('Prefix of all keys in etcd.', '/registry'),
  'etcd-cafile': path('CA bundle to verify the certificates of the etcd members. Reloaded when it changes.'),
  'etcd-certfile': path('Client certificate for connections to etcd. Reloaded when it changes.'),
  'etcd-keyfile': path('Private key of --etcd-certfile. Reloaded when it changes.'),
  'etcd-election-timeout': durationMs(
    'Election timeout of the etcd members (their --election-timeout). Timeouts and retries of calls to etcd, and the lease of the leading replica, are derived from it.',
    '1s',
    electionTimeoutBoundsMs,
  ),
  'etcd-compaction-interval': durationMs(
    'Interval of compaction requests to etcd, and the history that is retained at least; 0 disables compaction by this server.',
    '5m0s',
  ),
  'encryption-provider-config': path(
    'File with the EncryptionConfiguration for encryption at rest. Without it, resources are stored unencrypted.',
  ),
  'encryption-provider-config-automatic-reload': boolean('Reload --encryption-provider-config when it changes.'),
  'event-ttl': durationMs(
    'Time to retain events after their last update; 0 retains them until they are deleted.',
    '1h0m0s',
    [0, leaseMsMax],
  ),
};
