#!/usr/bin/env node
// npm run format: formats all files.
import { run } from './child.mjs';
import { prepare } from './prepare.mjs';
import { binary, main } from './project.mjs';

await main((args) => {
  const { node, env } = prepare();
  return run(node, [binary('biome'), 'format', '--write', ...args], { env });
});
