#!/usr/bin/env node
// npm run soak: runs the tests with repetition counts that are too long for continuous integration. Arguments after
// `--` are patterns that select tests.
import fs from 'node:fs';
import path from 'node:path';
import { findTests, runWithFullCounts } from './full-counts.mjs';
import { main, root } from './project.mjs';

/** The import of tests that have two repetition counts. */
const countsOf = /from '@cluster-apiserver\/testkit\/soak'/;

await main(async (patterns) =>
  runWithFullCounts(
    findTests(patterns).filter((file) => countsOf.test(fs.readFileSync(path.join(root, file), 'utf8'))),
  ),
);
