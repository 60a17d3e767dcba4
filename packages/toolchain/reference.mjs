#!/usr/bin/env node
// npm run reference: writes the pages of docs that are generated from declarations.
import path from 'node:path';
import { run } from './child.mjs';
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';

const pages = path.join('packages', 'tests', 'test', 'reference', 'pages.ts');

await main(() => {
  const { node, env } = prepare();
  return run(node, ['--conditions=source', '--disable-warning=ExperimentalWarning', pages], { env });
});
