/** The pages of the repository. */
import fs from 'node:fs';
import path from 'node:path';
import { packagesDirectory } from './sources.ts';

export const root = path.dirname(packagesDirectory);
export const docs = path.join(root, 'docs');
export const pagesIn = (folder: string): string[] =>
  fs.readdirSync(folder).filter((name) => name.endsWith('.md') && name !== 'README.md');
export const read = (...parts: readonly string[]): string => fs.readFileSync(path.join(...parts), 'utf8');

export const pages: readonly string[] = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'bench/README.md', 'conformance/README.md'],
  ...['deploy/README.md', 'deploy/monitoring/README.md', 'helm/README.md', 'helm/cluster-apiserver/README.md'],
  ...fs.globSync(['packages/*/README.md', 'packages/tests/data/*/README.md'], { cwd: root }),
  ...pagesIn(docs).map((name) => `docs/${name}`),
  'docs/README.md',
  ...pagesIn(path.join(docs, 'decisions')).map((name) => `docs/decisions/${name}`),
];

/** Not kept up to date: what a diary names need not exist any more. */
export const diary: readonly string[] = pagesIn(path.join(docs, 'diary')).map((name) => `docs/diary/${name}`);
