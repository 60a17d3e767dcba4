#!/usr/bin/env node
// The version of the project is in package.json. `npm version 1.2.3` runs this program, which writes it to the other places
// that need it; `npm run check` compares them.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { outputOf } from './child.mjs';
import { Failure, main, root } from './project.mjs';

const file = (name) => path.join(root, name);

/** The version of the project. */
export const version = JSON.parse(fs.readFileSync(file('package.json'), 'utf8')).version;

/** The places that repeat the version: programs, images and the chart cannot read package.json. */
const places = [
  ['packages/server/src/version.ts', /(?<=\bversion = ')[^']+/g],
  ['deploy/Dockerfile', /(?<=\bcluster-apiserver(?:-[a-z]+)?:|\bVERSION=)\d[\w.-]*/g],
  ['docker-compose.yml', /(?<=\bcluster-apiserver(?:-[a-z-]+)?:)\d[\w.-]*/g],
  ['docs/install.md', /(?<=\bcluster-apiserver(?:-[a-z-]+)?:)\d[\w.-]*/g],
  ['docs/install.md', /(?<=\bcluster-apiserver-)\d[\w.-]*(?=\.tgz\b)/g],
  // The image tag of a build ends with its commit.
  ['docs/recipes-helm.md', /(?<=\bimage\.tag=)\d[\w.-]*(?=-[\da-f]{12}\b)/g],
  ['docs/install-helm.md', /(?<=\bcluster-apiserver:)\d[\w.-]*/g],
  ['.github/ISSUE_TEMPLATE/bug.yml', /(?<=placeholder: cluster-apiserver )\S+/g],
  ['helm/cluster-apiserver/Chart.yaml', /(?<=^(?:version|appVersion): )\S+/gm],
];

const hasNotes = () => fs.readFileSync(file('CHANGELOG.md'), 'utf8').includes(`\n## ${version}\n`);

/** Prints the places that name another version, or none. Returns their number. */
export function reportVersions(print) {
  const wrong = places.flatMap(([name, pattern]) => {
    const found = fs.readFileSync(file(name), 'utf8').match(pattern) ?? ['no version'];
    return found.filter((one) => one !== version).map((one) => `${name}: ${one} instead of ${version}`);
  });
  // Only the project has a version. Its packages are parts of it, and npm finds them in the checkout.
  const ofPackages = fs
    .readdirSync(file('packages'))
    .map((name) => `packages/${name}/package.json`)
    .filter((name) => {
      const { version: own, dependencies, devDependencies } = JSON.parse(fs.readFileSync(file(name), 'utf8'));
      const used = Object.entries({ ...dependencies, ...devDependencies });
      return (
        own !== undefined || used.some(([other, range]) => other.startsWith('@cluster-apiserver/') && range !== '*')
      );
    });
  wrong.push(...ofPackages.map((name) => `${name}: packages have no version, and depend on "*" of each other`));
  if (!hasNotes()) wrong.push(`CHANGELOG.md: no section ${version}`);
  if (wrong.length > 0) print(`${wrong.join('\n')}\n`);
  return wrong.length;
}

/** In the tag of an image: the next build takes the tag of the version alone away from it. */
const shortCommit = 12;

/** What the sources are: of git, or undefined outside of a checkout. */
export function describeRevision() {
  const git = (...args) => outputOf('git', args, { cwd: root })?.trim();
  const commit = git('rev-parse', 'HEAD');
  if (!commit || git('rev-parse', '--show-prefix') !== '') return undefined;
  const seconds = Number(git('show', '--no-patch', '--format=%ct', 'HEAD'));
  const treeState = git('status', '--porcelain', '--untracked-files=no') === '' ? 'clean' : 'dirty';
  return {
    commit,
    treeState,
    imageTag: `${version}-${commit.slice(0, shortCommit)}${treeState === 'clean' ? '' : '-dirty'}`,
    // Of the commit, so that equal sources give equal builds.
    date: `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`,
  };
}

function writeVersion() {
  if (!hasNotes())
    throw new Failure(`CHANGELOG.md has no section ${version}: write it first, then restore package.json.`);
  for (const [name, pattern] of places)
    fs.writeFileSync(file(name), fs.readFileSync(file(name), 'utf8').replaceAll(pattern, version));
  if (reportVersions((text) => process.stdout.write(text)) > 0) throw new Failure('Write what is missing.');
  // npm commits what is staged, with package.json and the lock file.
  outputOf('git', ['add', ...places.map(([name]) => name), 'CHANGELOG.md'], { cwd: root });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(writeVersion);
