import os from 'node:os';

// Which tests run in parallel. Patterns of paths, as Jest takes them.

/** Many tests wait for processes and etcd rather than compute, so there are three workers more than cores. */
export const workers = os.cpus().length + 3;

/**
 * Tests that check rates, latencies, event-loop iterations or retained memory. Those of a row run one by one, and the rows beside each
 * other: they mostly wait for outages, elections and rests, so all together leave each enough of the machine. All rows
 * take about as long. All other tests wait for conditions and only get slower in parallel.
 */
export const measuringRows = [
  [
    'packages/tests/test/fault/faults\\.cluster\\.test\\.ts',
    'packages/tests/test/fault/rolling-restart\\.cluster\\.test\\.ts',
  ],
  [
    'packages/tests/test/fault/quorum-lost\\.cluster\\.test\\.ts',
    'packages/tests/test/hostile/definition-memory\\.cluster\\.test\\.ts',
    'packages/tests/test/hostile/retained-memory\\.cluster\\.test\\.ts',
  ],
  [
    'packages/tests/fuzz/fuzz\\.cluster\\.test\\.ts',
    'packages/tests/test/operators/official-definitions\\.cluster\\.test\\.ts',
  ],
];
export const measuringTests = measuringRows.flat();

/**
 * Faults of operation for which a test run has no time, and which tests of parts cover: only `npm run faults` runs these.
 * docs/testing.md names both.
 */
export const onlyWithFaults = [
  'packages/tests/test/operations/clocks\\.cluster\\.test\\.ts',
  'packages/tests/test/operations/deletions\\.cluster\\.test\\.ts',
  'packages/tests/test/operations/descriptors\\.cluster\\.test\\.ts',
  'packages/tests/test/operations/etcd-rights\\.cluster\\.test\\.ts',
  'packages/tests/test/operations/full-audit-disk\\.cluster\\.test\\.ts',
  'packages/tests/test/operators/more-definitions\\.cluster\\.test\\.ts',
];

/** What V8 keeps where, which a new version may change: only `npm test -- --group=v8` runs these. */
export const v8Tests = String.raw`\.v8\.test\.ts$`;

/**
 * The whole of `npm test` in parts, for machines of their own: `npm test -- --group=etcd --shard=1/2`. The recorded
 * conversations are `npm run conformance`. `npm test` leaves out the group `v8`.
 */
export const groups = {
  unit: { patterns: [String.raw`(?<!\.etcd|\.cluster|\.v8)\.test\.ts$`], excluded: [] },
  etcd: { patterns: [String.raw`\.etcd\.test\.ts$`], excluded: [] },
  cluster: { patterns: [String.raw`\.cluster\.test\.ts$`], excluded: [...measuringTests, ...onlyWithFaults] },
  alone: { patterns: measuringTests, excluded: [], options: ['--runInBand'] },
  v8: { patterns: [v8Tests], excluded: [] },
};

/** More failures than this mean a defect, not a slow machine. */
const repeatedMax = 3;

/**
 * A process that did not start, or a time that was not kept, by the errors of `testkit/src/repeatable-errors.ts`, or by
 * Jest's limit of a test. All other failures are verdicts, and final.
 */
const repeatable = /^(DeadlineError|StartError|Error: thrown: "Exceeded timeout of \d+ ms)\b/;

/**
 * A machine that stalls for seconds makes etcd members miss their election and disk deadlines, so tests of behavior
 * during that time may fail. Tests without other processes never do.
 */
export const mayRepeat = (failed) =>
  failed.length > 0 &&
  failed.length <= repeatedMax &&
  failed.every(
    ({ name, failures }) =>
      /\.(etcd|cluster)\.test\.ts$/.test(name) && failures.every((failure) => repeatable.test(failure)),
  );
