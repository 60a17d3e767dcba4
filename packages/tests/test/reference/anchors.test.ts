/** Links of the documentation to sections lead to a heading. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const pages = [
  ...['.', 'docs', 'docs/decisions', 'docs/diary', 'bench', 'conformance'],
  ...['deploy', 'deploy/monitoring', 'helm', 'helm/cluster-apiserver'],
].flatMap((folder) =>
  fs
    .readdirSync(path.join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name)),
);

const withoutCode = (text: string): string => text.replace(/^ *```[^]*?^ *```/gm, '');

/** As GitHub derives them from headings. */
const anchorsOf = (page: string): readonly string[] =>
  Array.from(withoutCode(fs.readFileSync(path.join(root, page), 'utf8')).matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('links to sections lead to a heading', () => {
  const broken = pages.flatMap((page) =>
    Array.from(
      withoutCode(fs.readFileSync(path.join(root, page), 'utf8')).matchAll(/\]\(([^)#:\s]*)#([^)]+)\)/g),
      ([, target = '', anchor = '']) => {
        const linked = target === '' ? page : path.join(path.dirname(page), target);
        return fs.existsSync(path.join(root, linked)) && anchorsOf(linked).includes(anchor)
          ? []
          : [`${page}: ${target}#${anchor}`];
      },
    ).flat(),
  );
  expect(pages.length).toBeGreaterThan(40);
  expect(broken).toEqual([]);
});
