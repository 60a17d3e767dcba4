import fs from 'node:fs';

/** They read V8's counters of all code loaded in their process: after a hundred other test files that takes minutes. */
const needsNewProcess = /\/hostile\/(?:growth|parts-of)[\w-]*\.test\.ts$/;

/** The suffix of a test file says what it starts, and so how long it takes. */
const slowestFirst = [needsNewProcess, /\.cluster\.test\.ts$/, /\.etcd\.test\.ts$/, /\.test\.ts$/];

/**
 * Runs slow files first, so that no worker is left with one of them at the end. On a fresh clone Jest would order by
 * size, but cluster tests are short files.
 */
export default class SlowestFirst {
  sort(tests) {
    const cost = ({ path }) => [slowestFirst.findIndex((ending) => ending.test(path)), -fs.statSync(path).size];
    return tests
      .map((test) => ({ test, cost: cost(test) }))
      .sort((a, b) => a.cost[0] - b.cost[0] || a.cost[1] - b.cost[1])
      .map(({ test }) => test);
  }

  /** Every shard gets its part of the slow files. */
  shard(tests, { shardIndex, shardCount }) {
    return this.sort(tests).filter((_test, i) => i % shardCount === shardIndex - 1);
  }

  /** Every run is complete: no earlier failures, no state for the next run. */
  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}
