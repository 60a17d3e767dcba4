import os from 'node:os';

// Which tests run beside others, and which do not. Patterns of paths, as Jest takes them.

/** Many tests wait for processes and members of etcd more than they compute, so there is a worker more than cores. */
export const workers = os.cpus().length + 1;

/**
 * What keeps the machine busy itself while it judges a rate, a latency or the memory that is kept. All others wait for
 * conditions, and a neighbour only makes them slower.
 */
export const oneByOne = [
  'packages/tests/fuzz/fuzz\\.cluster\\.test\\.ts',
  'packages/tests/test/watch/campaign\\.cluster\\.test\\.ts',
  'packages/tests/test/fault/faults\\.cluster\\.test\\.ts',
  'packages/tests/test/fault/quorum-lost\\.cluster\\.test\\.ts',
  'packages/tests/test/fault/rolling-restart\\.cluster\\.test\\.ts',
];

/** What must hold on the older etcd, too: how we talk with it, and one fault through the whole server. */
export const onBothEtcds = [
  'packages/storage/src/etcd/client\\.etcd\\.test\\.ts',
  'packages/storage/src/etcd/etcd-store\\.etcd\\.test\\.ts',
  'packages/storage/src/etcd/etcd-watch\\.etcd\\.test\\.ts',
  'packages/storage/src/etcd/history\\.etcd\\.test\\.ts',
  'packages/storage/src/etcd/leases\\.etcd\\.test\\.ts',
  'packages/storage/src/etcd/limits\\.etcd\\.test\\.ts',
  'packages/storage/src/etcd/rights\\.etcd\\.test\\.ts',
  'packages/tests/test/fault/leader-kill\\.cluster\\.test\\.ts',
];
