import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const toolchain = path.join(root, 'packages', 'toolchain', 'site-pages.mjs');
const pages = ['README.md', 'docs/scaling.md', 'docs/decisions/README.md', 'bench/README.md'];

/** The value of an expression over the exports of the script, which no package imports. */
const valueOf = (expression: string): unknown =>
  JSON.parse(
    execFileSync(process.execPath, [
      '--input-type=module',
      '--eval',
      `import * as site from ${JSON.stringify(toolchain)}; console.log(JSON.stringify(${expression}));`,
    ]).toString(),
  );

const sitePage = (page: string, text: string, sourceUrl?: string): unknown =>
  valueOf(
    `site.sitePage(${[page, text].map((one) => JSON.stringify(one)).join()}, new Set(${JSON.stringify(pages)}), ${JSON.stringify(sourceUrl)})`,
  );

test('the navigation of the site has each page of docs', () => {
  const settings = fs.readFileSync(path.join(root, 'docs', '.vitepress', 'config.mjs'), 'utf8');
  const named = Array.from(settings.matchAll(/page\('[^']+', '([^']+)'\)/g), ([, name = '']) => name);
  const written = fs
    .readdirSync(path.join(root, 'docs'))
    .filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(new Set(named.filter((name) => !name.endsWith('/')).map((name) => `${name}.md`))).toEqual(new Set(written));
});

test('the pages of all folders with documents are pages of the site', () => {
  expect(valueOf('site.pagesOfSite()')).toEqual(
    expect.arrayContaining(['README.md', 'docs/decisions/0001-packages.md', 'helm/cluster-apiserver/README.md']),
  );
});

test.each([
  ['README.md', '[a](docs/scaling.md#sizing)', '[a](docs/scaling.md#sizing)'],
  [
    'docs/scaling.md',
    '[a](../README.md#limits) [b](decisions/README.md)',
    '[a](../index.md#limits) [b](decisions/index.md)',
  ],
  ['docs/scaling.md', '[a](../bench)', '[a](../bench/index.md)'],
  ['README.md', '[a test](packages/base/src/loop.test.ts)', 'a test'],
  ['README.md', '[a](https://example.com/x)', '[a](https://example.com/x)'],
  ['README.md', '![a](docs/images/tour.svg)', '![a](docs/images/tour.svg)'],
  ['README.md', '<!-- a comment -->\ntext', 'text'],
  ['docs/diary/x.md', 'text', '---\nsearch: false\n---\n\ntext'],
])('%s: %j is %j on the site', (page, text, expected) => {
  expect(sitePage(page, text)).toBe(expected);
});

test('sources are linked where it is known where they are', () => {
  expect(sitePage('docs/scaling.md', '[a](../LICENSE)', 'https://example.com/main')).toBe(
    '[a](https://example.com/main/LICENSE)',
  );
});

test('anchors are those of forges', () => {
  expect(valueOf("site.anchorOf('What `a.b` does, twice')")).toBe('what-ab-does-twice');
});
