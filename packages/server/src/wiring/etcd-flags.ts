import { etcdTransports } from '@cluster-apiserver/storage';
import { durationMs, flagSwitch, list, oneOf, path } from '../flag.ts';

/** Flags of etcd and of how objects are stored in it. */
export const etcdFlags = {
  'etcd-servers': list({ fallback: 'http://127.0.0.1:2379', help: 'The members of the etcd cluster.' }),
  'etcd-prefix': path({ fallback: '/registry', help: 'What all keys in etcd begin with.' }),
  'etcd-cafile': path({ fallback: '', help: 'Certificate authority of the etcd members.' }),
  'etcd-certfile': path({ fallback: '', help: 'Client certificate for etcd.' }),
  'etcd-keyfile': path({ fallback: '', help: 'Key of the client certificate for etcd.' }),
  'etcd-transport': oneOf<(typeof etcdTransports)[number]>(
    {
      fallback: 'native',
      help: "HTTP/2 implementation for connections to etcd: the server's own, or Node's, which is slower, for emergencies.",
    },
    etcdTransports,
  ),
  'etcd-election-timeout': durationMs({
    fallback: '1s',
    help: "The election timeout that etcd's members run with; waiting for etcd is measured in it.",
  }),
  'etcd-compaction-interval': durationMs({
    fallback: '5m0s',
    help: 'How much history is kept at least; 0 leaves compaction to others.',
  }),
  'encryption-provider-config': path({
    fallback: '',
    help: 'An EncryptionConfiguration: how which resources are stored. Without it they are stored as they are.',
  }),
  'encryption-provider-config-automatic-reload': flagSwitch({
    help: 'Take a changed --encryption-provider-config into service without a restart.',
  }),
  'event-ttl': durationMs({
    fallback: '1h0m0s',
    help: 'Time to retain events after their last update; 0 retains them until they are deleted.',
  }),
};
