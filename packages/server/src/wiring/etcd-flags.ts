import { etcdTransports } from '@cluster-apiserver/storage';
import { durationMs, flagSwitch, list, oneOf, path } from '../flag.ts';

/** Flags of etcd and of how objects are stored in it. */
export const etcdFlags = {
  'etcd-servers': list({ fallback: 'http://127.0.0.1:2379', help: 'URLs of the etcd members.' }),
  'etcd-prefix': path({ fallback: '/registry', help: 'Prefix of all keys in etcd.' }),
  'etcd-cafile': path({ fallback: '', help: 'CA bundle to verify the certificates of the etcd members.' }),
  'etcd-certfile': path({ fallback: '', help: 'Client certificate for connections to etcd.' }),
  'etcd-keyfile': path({ fallback: '', help: 'Private key of --etcd-certfile.' }),
  'etcd-transport': oneOf<(typeof etcdTransports)[number]>(
    {
      fallback: 'native',
      help: "HTTP/2 implementation for connections to etcd: the server's own, or that of Node.js, which is slower and a fallback.",
    },
    etcdTransports,
  ),
  'etcd-election-timeout': durationMs({
    fallback: '1s',
    help: 'Election timeout of the etcd members (their --election-timeout). Timeouts and retries of calls to etcd are derived from it.',
  }),
  'etcd-compaction-interval': durationMs({
    fallback: '5m0s',
    help: 'Interval of compaction requests to etcd, and the history that is retained at least; 0 disables compaction by this server.',
  }),
  'encryption-provider-config': path({
    fallback: '',
    help: 'File with the EncryptionConfiguration for encryption at rest. Without it, resources are stored unencrypted.',
  }),
  'encryption-provider-config-automatic-reload': flagSwitch({
    help: 'Reload --encryption-provider-config when it changes.',
  }),
  'event-ttl': durationMs({
    fallback: '1h0m0s',
    help: 'Time to retain events after their last update; 0 retains them until they are deleted.',
  }),
};
