#!/usr/bin/env node
// npm run build: every room as JavaScript and declarations in its dist folder. Tests and development need none of it.
import fs from 'node:fs';
import path from 'node:path';
import { run } from './child.mjs';
import { prepare } from './prepare.mjs';
import { binary, cache, main, root } from './project.mjs';

await main(async () => {
  const { node, env } = prepare();
  const built = path.join(cache, 'build');
  fs.rmSync(built, { recursive: true, force: true });
  const code = await run(node, [binary('tsc'), '-p', path.join('packages', 'toolchain', 'tsconfig.build.json')], {
    env,
  });
  if (code !== 0) return code;
  for (const room of fs.readdirSync(built)) {
    const dist = path.join(root, 'packages', room, 'dist');
    fs.rmSync(dist, { recursive: true, force: true });
    fs.renameSync(path.join(built, room, 'src'), dist);
  }
  return 0;
});
