#!/usr/bin/env node
// npm run site: builds the documentation site from docs/ and the other pages of the repository into .cache/site/dist.
// npm run site -- preview: builds it and serves it on this machine. SOURCE_URL is where links to sources lead, such as
// https://example.com/project/blob/main; without it they are plain text.
import fs from 'node:fs';
import path from 'node:path';
import { run, step } from './child.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';
import { deadLinks } from './site-links.mjs';
import { copyPages } from './site-pages.mjs';

const home = path.join(cache, 'site');
const settings = path.join(root, 'docs', '.vitepress');

await main(async ([command]) => {
  const { node, env } = prepare();
  fs.mkdirSync(home, { recursive: true });
  installVitePress(env);
  const pages = path.join(home, 'pages');
  copyPages(pages, process.env.SOURCE_URL);
  const vitepress = path.join(home, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  const dist = path.join(home, 'dist');
  const built = await run(node, [vitepress, 'build', pages], { cwd: home, env });
  if (built !== 0) return built;
  const dead = deadLinks(dist);
  if (dead.length > 0) throw new Failure(`Links of the site lead nowhere:\n${dead.join('\n')}`);
  console.log(`The site is in ${path.relative(root, dist)}.`);
  return command === 'preview' ? run(node, [vitepress, 'preview', pages], { cwd: home, env }) : 0;
});

/** Only those who build the site need it, so it is no dependency of the project. */
function installVitePress(env) {
  const files = ['package.json', 'package-lock.json'];
  const read = (folder, name) => fs.readFileSync(path.join(folder, name), 'utf8');
  const isInstalled = fs.existsSync(path.join(home, 'node_modules', 'vitepress'));
  if (isInstalled && files.every((name) => read(home, name) === read(settings, name))) return;
  for (const name of files) fs.copyFileSync(path.join(settings, name), path.join(home, name));
  const { ok, output } = step('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: home, env });
  if (!ok) throw new Failure(`VitePress could not be installed.\n${output}`);
}
