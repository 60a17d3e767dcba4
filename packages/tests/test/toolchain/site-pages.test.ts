/** The copy of the pages that `npm run site` builds the documentation site from. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const script = path.join(root, 'packages', 'toolchain', 'site-pages.mjs');
const sources = 'https://sources.example/main';
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'site-'));
const pages = path.join(folder, 'pages');
const linked = path.join(folder, 'linked');

let versionsPage: string;
const versions = ['v1.2.0', 'index.html', 'v1.10.0', 'v1.10.0-rc.2', '.git'];

beforeAll(() => {
  // No package imports the toolchain.
  const call = (name: string, ...args: readonly unknown[]): string =>
    `${name}(${args.map((one) => JSON.stringify(one)).join()})`;
  const program = `import { copyPages, versionsPage } from ${JSON.stringify(script)};
    ${call('copyPages', pages, {})};
    ${call('copyPages', linked, { sourceUrl: sources })};
    process.stdout.write(${call('versionsPage', versions)});`;
  versionsPage = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
});
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const read = (...parts: readonly string[]): string => fs.readFileSync(path.join(...parts), 'utf8');
const linksIn = (text: string): string[] =>
  Array.from(text.matchAll(/\]\(([^()#\s]+)(?:#[^()\s]*)?\)/g), ([, target = '']) => target);

test('the navigation has each page of docs', () => {
  const settings = read(root, 'docs', '.vitepress', 'config.mjs');
  const named = Array.from(settings.matchAll(/page\('[^']+', '([^']+)'\)/g), ([, name = '']) => name);
  const written = fs
    .readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(new Set(named.filter((name) => !name.endsWith('/')).map((name) => `${name}.md`))).toEqual(new Set(written));
});

test('links of a copied page lead to a copied page or picture, or to another site', () => {
  const copied = fs.globSync('**/*.md', { cwd: pages });
  expect(copied).toEqual(
    expect.arrayContaining(['index.md', 'docs/decisions/index.md', 'helm/cluster-apiserver/index.md']),
  );
  const broken = copied.flatMap((page) =>
    linksIn(read(pages, page))
      .filter((target) => !/^(?:https?|mailto):/.test(target))
      .filter((target) => !fs.existsSync(path.join(pages, path.dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test('links to sources are plain text, or lead to where the sources are', () => {
  expect(linksIn(read(pages, 'index.md'))).not.toContain(`${sources}/LICENSE`);
  expect(read(pages, 'index.md')).toContain('License: Apache 2.0');
  expect(linksIn(read(linked, 'index.md'))).toContain(`${sources}/LICENSE`);
});

test('comments are left out, and the search leaves out the diary', () => {
  expect(read(root, 'README.md')).toContain('<!--');
  expect(read(pages, 'index.md')).not.toContain('<!--');
  expect(read(pages, 'docs', 'diary', 'performance.md')).toMatch(/^---\nsearch: false\n---\n/);
});

test('the page of all versions lists the latest first', () => {
  expect(Array.from(versionsPage.matchAll(/href="([^"]+)"/g), ([, href]) => href)).toEqual([
    'v1.10.0/',
    'v1.10.0-rc.2/',
    'v1.2.0/',
  ]);
});
