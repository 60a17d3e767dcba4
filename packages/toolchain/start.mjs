#!/usr/bin/env node
// npm start: starts a local cluster from a fresh clone. Arguments follow `--`, see `npm start -- --help`.
import { main } from './project.mjs';
import { runProgram } from './program.mjs';

/** Two replicas, as users of several have them. */
const withReplicas = (args) => {
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args;
  return own.some((argument) => /^--replicas\b/.test(argument)) ? args : ['--replicas=2', ...args];
};

await main((args) => runProgram(['start', ...withReplicas(args)]));
