import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { packagesDirectory } from './sources.ts';

const root = path.dirname(packagesDirectory);
const docs = path.join(root, 'docs');
const pagesIn = (folder: string): string[] =>
  fs.readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
const read = (...parts: readonly string[]): string => fs.readFileSync(path.join(...parts), 'utf8');

test.each(['docs', 'docs/decisions'])('the index of %s lists all of its pages', (name) => {
  const folder = path.join(root, name);
  const index = read(folder, 'README.md');
  expect(pagesIn(folder).filter((page) => !index.includes(`(${page})`))).toEqual([]);
});

test('each decision has its number and title in the index', () => {
  const index = read(docs, 'decisions', 'README.md');
  for (const page of pagesIn(path.join(docs, 'decisions'))) {
    const [, number, title] = /^# (\d{4}): (.+)\n/.exec(read(docs, 'decisions', page)) ?? [];
    expect(page.slice(0, 4)).toBe(number);
    expect(index).toContain(`| [${number}](${page}) | ${title} |`);
  }
});

test('links between pages are valid', () => {
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']
    .concat(
      pagesIn(docs).map((name) => `docs/${name}`),
      'docs/README.md',
    )
    .concat(pagesIn(path.join(docs, 'decisions')).map((name) => `docs/decisions/${name}`));
  const broken = pages.flatMap((page) =>
    Array.from(read(root, page).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g), ([, target = '']) => target)
      .filter((target) => !fs.existsSync(path.join(root, path.dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});
