#!/usr/bin/env node
// npm run faults: runs the tests of faults that an operator meets, with full counts. Arguments after `--` are patterns that
// select tests.
import { findTests, runWithFullCounts } from './full-counts.mjs';
import { main } from './project.mjs';

/** Faults of machines and of etcd; of files, keys, rights and clocks; operators meanwhile; and watches through all of them. */
const suites = String.raw`/tests/test/((fault|operations|operators)/|watch/campaign)`;

await main(async (patterns) => runWithFullCounts(findTests([suites, ...patterns])));
