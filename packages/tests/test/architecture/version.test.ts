/** The version of the project is in package.json; every other place repeats it. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
const read = (file: string): string => fs.readFileSync(path.join(root, file), 'utf8');
const { version } = JSON.parse(read('package.json')) as { readonly version: string };

test('all packages have the version of the project, and depend on it', () => {
  for (const file of fs.globSync('packages/*/package.json', { cwd: root })) {
    const own = JSON.parse(read(file)) as Record<string, Record<string, string> | string>;
    const used = [own.dependencies, own.devDependencies].flatMap((some) => Object.entries(some ?? {}));
    const ofProject = used.filter(([name]) => name.startsWith('@cluster-apiserver/')).map(([, wanted]) => wanted);
    expect({ file, versions: [...new Set([own.version, ...ofProject])] }).toEqual({ file, versions: [version] });
  }
});

/** Each mention of an image, a chart or the program with its version. */
const mentions: readonly (readonly [file: string, pattern: RegExp])[] = [
  ['packages/server/src/version.ts', /version = '([^']+)'/g],
  ['deploy/Dockerfile', /cluster-apiserver:(\S+)|ARG VERSION=(\S+)/g],
  ['docker-compose.yml', /cluster-apiserver(?:-[a-z-]+)?:(\d[\w.]*)/g],
  ['docs/install.md', /cluster-apiserver:(\d[\w.]*)/g],
  ['docs/install-helm.md', /cluster-apiserver:(\d[\w.]*)/g],
  ['helm/cluster-apiserver/Chart.yaml', /^(?:version|appVersion): (\S+)$/gm],
  ['packages/toolchain/compose.mjs', /\$\{name\}:(\d[\w.]*)/g],
  ['packages/tests/test/deploy/compose.cluster.test.ts', /cluster-apiserver:(\d[\w.]*)/g],
];

test.each(mentions)('%s names the version of the project', (file, pattern) => {
  const found = Array.from(read(file).matchAll(pattern), ([, ...groups]) =>
    groups.find((group) => group !== undefined),
  );
  expect(found.length).toBeGreaterThan(0);
  expect(new Set(found)).toEqual(new Set([version]));
});
