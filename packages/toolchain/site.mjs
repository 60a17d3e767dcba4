#!/usr/bin/env node
// npm run site: builds the documentation site into .cache/site/dist, from docs/, the other pages of the repository and the
// API reference of a running server.
// npm run site -- preview: builds it and serves it on this machine.
// npm run site -- publish FOLDER URL: builds it into vVERSION of this git checkout, lists all versions in its index.html, and
// pushes both. URL is where the checkout is published.
// SOURCE_URL is where links to sources lead, such as https://example.com/project/blob/main; without it they are plain text.
import { once } from 'node:events';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { run, step } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';
import { deadLinks } from './site-links.mjs';
import { copyPages, versionsPage } from './site-pages.mjs';
import { version } from './version.mjs';

const home = path.join(cache, 'site');
const settings = path.join(root, 'docs', '.vitepress');

await main(async ([command, folder, versionsUrl]) => {
  const isPublished = command === 'publish';
  if (isPublished && !URL.canParse(versionsUrl))
    throw new Failure('npm run site -- publish needs a git checkout and a URL.');
  const { node, env } = prepare();
  fs.mkdirSync(home, { recursive: true });
  installVitePress(env);
  const pages = path.join(home, 'pages');
  copyPages(pages, { sourceUrl: process.env.SOURCE_URL, versionsUrl });
  const vitepress = path.join(home, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  const dist = path.join(home, 'dist');
  const base = isPublished ? new URL(`v${version}/`, versionsUrl).pathname : '/';
  const built = await run(node, [vitepress, 'build', pages, '--base', base], { cwd: home, env });
  if (built !== 0) return built;
  await writeApiReference(dist, { node, env });
  const dead = deadLinks(dist, base);
  if (dead.length > 0) throw new Failure(`Links of the site lead nowhere:\n${dead.join('\n')}`);
  if (isPublished) publishVersion(folder, dist);
  console.log(`The site is in ${isPublished ? folder : path.relative(root, dist)}.`);
  return command === 'preview' ? run(node, [vitepress, 'preview', pages], { cwd: home, env }) : 0;
});

/** The page that a server without custom kinds has at /docs. */
async function writeApiReference(dist, { node, env }) {
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const data = path.join(home, 'cluster');
  await withCluster(tools, data, ['--replicas', '1'], async ({ replicas: [{ url }] }) => {
    const read = (name) => fs.readFileSync(path.join(data, name), 'utf8');
    const page = await getText(`${url}/docs`, { ca: read('ca.crt'), token: read('admin.token').trim() });
    fs.mkdirSync(path.join(dist, 'api'), { recursive: true });
    fs.writeFileSync(path.join(dist, 'api', 'index.html'), page);
  });
}

async function getText(url, { ca, token }) {
  const request = https.get(url, { ca, headers: { authorization: `Bearer ${token}` } });
  const [response] = await once(request, 'response');
  const body = await text(response);
  if (response.statusCode !== 200) throw new Failure(`GET ${url}: ${response.statusCode} ${body}`);
  return body;
}

/** Replaces this version in the checkout of all versions. */
function publishVersion(folder, dist) {
  const own = path.join(folder, `v${version}`);
  fs.rmSync(own, { recursive: true, force: true });
  fs.cpSync(dist, own, { recursive: true });
  fs.writeFileSync(path.join(folder, 'index.html'), versionsPage(fs.readdirSync(folder)));
  const author = ['-c', 'user.name=release', '-c', 'user.email=release@users.noreply.github.com'];
  // A version that is published again may be the same.
  for (const command of [['add', '--all'], [...author, 'commit', '--allow-empty', '-m', `v${version}`], ['push']]) {
    const { ok, output } = step('git', ['-C', folder, ...command]);
    if (!ok) throw new Failure(`The site could not be published.\n${output}`);
  }
}

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
