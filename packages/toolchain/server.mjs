#!/usr/bin/env node
// npm run server: the program that the documentation calls cluster-apiserver, built from this checkout. Arguments follow
// `--`: npm run --silent server -- config check FILE
import path from 'node:path';
import { run } from './child.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';

await main((args) => {
  const { node, env } = prepare();
  buildPackages({ env });
  return run(node, [path.join('packages', 'server', 'dist', 'main.js'), ...args], { env });
});
