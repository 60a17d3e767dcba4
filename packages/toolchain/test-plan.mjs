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

/** More than this at once say that something is broken, and not that the machine was slow. */
const repeatedMax = 3;

/**
 * Members of etcd elect, write to disk and answer within their own limits, which a machine that stands still for some
 * seconds makes them miss; tests that judge what a server does meanwhile may fail then. What needs no other process
 * never does.
 */
export const mayRepeat = (failed) =>
  failed.length > 0 &&
  failed.length <= repeatedMax &&
  failed.every(({ name }) => /\.(etcd|cluster)\.test\.ts$/.test(name));
