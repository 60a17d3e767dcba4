import { durationMs, boolean, etcdUrls, path } from '../flags/flag.ts';

/** etcd accepts no longer one; a shorter one is less than a round trip between its members. */
const electionTimeoutBoundsMs = [10, 50_000] as const;

/** etcd rejects longer leases. */
const leaseMsMax = 9_000_000_000_000;

/** Flags of etcd and of encryption at rest. */
export const etcdFlags = {
  'etcd-servers': etcdUrls({
    default: 'http://127.0.0.1:2379',
    help: 'URLs of the etcd members; host:port means http.',
  }),
  'etcd-prefix': path({ default: '/registry', help: 'Prefix of all keys in etcd.' }),
  'etcd-cafile': path({
    default: '',
    help: 'CA bundle to verify the certificates of the etcd members. Reloaded when it changes.',
  }),
  'etcd-certfile': path({ default: '', help: 'Client certificate for connections to etcd. Reloaded when it changes.' }),
  'etcd-keyfile': path({ default: '', help: 'Private key of --etcd-certfile. Reloaded when it changes.' }),
  'etcd-election-timeout': durationMs(
    {
      default: '1s',
      help: 'Election timeout of the etcd members (their --election-timeout). Timeouts and retries of calls to etcd, and the lease of the leading replica, are derived from it.',
    },
    electionTimeoutBoundsMs,
  ),
  'etcd-compaction-interval': durationMs({
    default: '5m0s',
    help: 'Interval of compaction requests to etcd, and the history that is retained at least; 0 disables compaction by this server.',
  }),
  'encryption-provider-config': path({
    default: '',
    help: 'File with the EncryptionConfiguration for encryption at rest. Without it, resources are stored unencrypted.',
  }),
  'encryption-provider-config-automatic-reload': boolean({
    help: 'Reload --encryption-provider-config when it changes.',
  }),
  'event-ttl': durationMs(
    {
      default: '1h0m0s',
      help: 'Time to retain events after their last update; 0 retains them until they are deleted.',
    },
    [0, leaseMsMax],
  ),
};
