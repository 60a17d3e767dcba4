import fs from 'node:fs';

/** It asks V8 for the counts of everything that its process has loaded: after a hundred other files that takes minutes. */
const needsNewProcess = /\/hostile\/growth\.test\.ts$/;

/** What a file needs says how long it takes: clusters are started and stopped, members of etcd are waited for. */
const slowestFirst = [needsNewProcess, /\.cluster\.test\.ts$/, /\.etcd\.test\.ts$/, /\.test\.ts$/];

/**
 * Begins with the files that take long, so that no worker is left alone with one of them in the end. On a fresh clone
 * Jest would go by size, and what starts clusters is short.
 */
export default class SlowestFirst {
  sort(tests) {
    const cost = ({ path }) => [slowestFirst.findIndex((ending) => ending.test(path)), -fs.statSync(path).size];
    return tests
      .map((test) => ({ test, cost: cost(test) }))
      .sort((a, b) => a.cost[0] - b.cost[0] || a.cost[1] - b.cost[1])
      .map(({ test }) => test);
  }

  /** Every run is whole: there are no shards, no failures from before, and nothing is kept for the next. */
  shard(tests) {
    return tests;
  }

  allFailedTests(tests) {
    return tests;
  }

  cacheResults() {}
}
