import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { diary, docs, pages, pagesIn, read, root } from './documents.ts';

test.each(['docs', 'docs/decisions'])('the index of %s lists all of its pages', (name) => {
  const folder = path.join(root, name);
  const index = read(folder, 'README.md');
  expect(pagesIn(folder).filter((page) => !index.includes(`(${page})`))).toEqual([]);
});

test('each decision has its number and title in the index, and a date', () => {
  const index = read(docs, 'decisions', 'README.md');
  for (const page of pagesIn(path.join(docs, 'decisions'))) {
    const [, number, title] = /^# (\d{4}): (.+)\n/.exec(read(docs, 'decisions', page)) ?? [];
    expect(page.slice(0, 4)).toBe(number);
    expect(read(docs, 'decisions', page)).toMatch(/^Status: accepted, \d{4}-\d\d-\d\d/m);
    expect(index).toContain(`| [${number}](${page}) | ${title} |`);
  }
});

test.each(['README.md', 'docs/benchmarks.md'])('%s has at most 120 lines', (name) => {
  expect(read(root, name).split('\n').length - 1).toBeLessThanOrEqual(120);
});

test('links between pages are valid', () => {
  const broken = [...pages, ...diary].flatMap((page) =>
    Array.from(read(root, page).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g), ([, target = '']) => target)
      .filter((target) => !fs.existsSync(path.join(root, path.dirname(page), target)))
      .map((target) => `${page}: ${target}`),
  );
  expect(broken).toEqual([]);
});

test.each([
  ['docs/custom-resources.md', 'lamps'],
  ['docs/admission.md', 'owned-accounts'],
])('%s shows docs/examples/%s.yaml', (page, example) => {
  for (const object of read(docs, 'examples', `${example}.yaml`).split('---\n'))
    expect(read(root, page)).toContain(object);
});

/** Scripts by path, without `packages`, `src` and `test`, as pages name them. */
const scripts = new Map(
  fs
    .globSync(
      [
        '*.ts',
        '{bench,conformance}/*.mjs',
        'packages/*/*.mjs',
        'packages/*/{src,test,bench,fuzz}/**/*.ts',
        'helm/**/*.mjs',
      ],
      { cwd: root },
    )
    .map((file) => [`/${file.replace(/^packages\//, '').replace(/\/(src|test)\//, '/')}`, file]),
);

/** The files that a path in a page can mean: its end is enough. */
const filesNamed = (name: string): string[] =>
  Array.from(scripts).flatMap(([short, file]) => (short.endsWith(`/${name}`) || file.endsWith(name) ? [file] : []));

/** Example code, which exists in no package. */
const examples = ['packages/kinds/src/text-bundle/text-bundle.ts'];

test('scripts that pages name exist', () => {
  const missing = pages.flatMap((page) =>
    Array.from(read(root, page).matchAll(/`(\w[\w./-]*\.(?:ts|mjs))`/g), ([, name = '']) => name)
      .filter((name) => filesNamed(name).length === 0 && !examples.includes(name))
      .map((name) => `${page}: ${name}`),
  );
  expect(missing).toEqual([]);
});

test('a constant that pages name with its file is declared there', () => {
  const named = pages.flatMap((page) =>
    Array.from(read(root, page).matchAll(/`([a-z]+[A-Z]\w*)`, `(\w[\w./-]*\.(?:ts|mjs))`/g), ([, constant, file]) => ({
      page,
      constant: constant ?? '',
      file: file ?? '',
    })),
  );
  expect(named).not.toEqual([]);
  const missing = named.filter(
    ({ constant, file }) => !filesNamed(file).some((one) => new RegExp(`\\b${constant}\\b`).test(read(root, one))),
  );
  expect(missing).toEqual([]);
});

/** Identifiers of Node, libraries, systemd, Kubernetes and the Gateway API that pages name, and the name of a generated operation. */
const foreignIdentifiers = new Set([
  'AsyncLocalStorage',
  'ConstrainedImpersonation',
  'createRemoteJWKSet',
  'Http2ServerRequest',
  'k8sVersionMinor',
  'LimitNOFILE',
  'listCoreV1NamespacedEvent',
  'Passthrough',
  'pauseOnConnect',
]);

/** All words of the sources, of the chart and of the deployments; tests may name what does not exist. */
const readKnownWords = (): Set<string> =>
  new Set(
    fs
      .globSync(
        [
          ...['packages/*/{src,test,bench,fuzz}/**/*.ts', 'tsconfig.json', '*.config.ts'],
          '{packages/toolchain,bench,conformance}/*.mjs',
          ...['helm/**/*.{yaml,yml,json,tpl,mjs}', 'deploy/**/*.{yaml,yml,json}', '*.yml'],
        ],
        { cwd: root },
      )
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) => read(root, file).match(/\w+/g) ?? []),
  );

test('identifiers that pages name exist', () => {
  const known = readKnownWords();
  const missing = pages.flatMap((page) =>
    identifiersIn(read(root, page))
      .filter((name) => !known.has(name) && !foreignIdentifiers.has(name))
      .map((name) => `${page}: ${name}`),
  );
  expect(missing).toEqual([]);
});

/** Words in camelCase or PascalCase, in backticks and outside of code blocks; of a path, each part. */
function identifiersIn(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '');
  return Array.from(prose.matchAll(/`([A-Za-z][A-Za-z0-9.]*)(?:\(\))?`/g), ([, path = '']) => path.split('.'))
    .flat()
    .filter((name) => /[a-z]/.test(name) && /[A-Z]/.test(name));
}
