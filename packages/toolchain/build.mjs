#!/usr/bin/env node
// npm run build: compiles every package to JavaScript in its dist folder. Tests do not need it.
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';
import { buildPackages } from './packages.mjs';

await main(async () => {
  buildPackages(prepare());
  return 0;
});
