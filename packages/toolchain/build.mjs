#!/usr/bin/env node
// npm run build: every room as JavaScript in its dist folder. Tests need none of it.
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';
import { buildPackages } from './packages.mjs';

await main(async () => buildPackages(prepare()));
