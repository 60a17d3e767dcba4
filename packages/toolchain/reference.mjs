#!/usr/bin/env node
// npm run reference: writes the pages of docs that are generated from declarations.
import path from 'node:path';
import { run } from './child.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { main } from './project.mjs';
import { environmentOf } from './test-tools.mjs';

const tests = path.join('packages', 'tests', 'test');
const generators = [
  path.join(tests, 'reference', 'pages.ts'),
  // Asks a running server which metrics it has.
  path.join(tests, 'metrics', 'metrics-page.ts'),
];

await main(async () => {
  const { node, env } = prepare();
  const withEtcd = { ...env, ...environmentOf({ etcd: await provisionEtcd() }) };
  for (const generator of generators) {
    const code = await run(node, ['--conditions=source', '--disable-warning=ExperimentalWarning', generator], {
      env: withEtcd,
    });
    if (code !== 0) return code;
  }
  return 0;
});
