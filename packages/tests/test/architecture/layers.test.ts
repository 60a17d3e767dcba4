import { describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { findCircles } from './circles.ts';
import { type Import, manifestOf, packagesDirectory, readSources, packageNames, type Source } from './sources.ts';

/** A package may import only packages of the lines above its own. */
const layers = [
  ['base'],
  ['telemetry', 'model', 'certificates'],
  ['expressions'],
  ['config', 'custom-resources'],
  ['storage', 'gates', 'kinds'],
  ['registry', 'audit', 'testkit'],
  ['pipeline', 'controllers', 'policies'],
  ['server'],
  ['devcluster'],
  ['tests'],
];
const layerOf = (packageName: string): number => layers.findIndex((line) => line.includes(packageName));

const scope = '@cluster-apiserver/';
const sources = readSources();
/** Development dependencies of the root package, available to all tests. */
const tools = Object.keys(manifestOf().devDependencies ?? {});

test('all sources and their imports are found', () => {
  const index = sources.find((source) => source.path === 'registry/src/index.ts');
  expect(index?.imports.map(({ from }) => from)).toContain('./verbs/create.ts');
  expect(new Set(sources.map(({ packageName }) => packageName)).size).toBeGreaterThan(8);
});

test.each(packageNames)('%s is in a layer', (packageName) => {
  expect(layerOf(packageName)).toBeGreaterThanOrEqual(0);
});

test('the layers name only packages that exist', () => {
  expect(layers.flat().toSorted()).toEqual(packageNames.toSorted());
});

test('no files import each other in a circle, not even types', () => {
  const files = sources.filter(({ path: file, isTestCode }) => /^[^/]+\/src\//.test(file) && !isTestCode);
  const importsOf = new Map(
    files.map((source) => [
      source.path,
      source.imports.filter(({ from }) => from.startsWith('.')).map(({ from }) => target(source, from)),
    ]),
  );
  expect(findCircles(importsOf)).toEqual([]);
});

describe.each(packageNames)('%s', (packageName) => {
  const own = sources.filter((source) => source.packageName === packageName);
  const { dependencies = {}, devDependencies = {} } = manifestOf(packageName);
  const violations = (wrong: (source: Source, used: Import) => boolean): string[] =>
    own.flatMap((source) =>
      source.imports.filter((used) => wrong(source, used)).map(({ from }) => `${source.path} imports ${from}`),
    );

  test('imports only packages of layers above it', () => {
    expect(
      violations(
        (source, { from }) =>
          from.startsWith(scope) &&
          !isTestkit(source, from) &&
          !(layerOf(packageNameIn(from)) >= 0 && layerOf(packageNameIn(from)) < layerOf(packageName)),
      ),
    ).toEqual([]);
  });

  test('imports other packages only through their public API', () => {
    expect(violations((source, { from }) => from.startsWith('.') && !mayReach(source, target(source, from)))).toEqual(
      [],
    );
    expect(
      violations((source, { from }) => from.startsWith(scope) && !isTestkit(source, from) && !isPublic(from)),
    ).toEqual([]);
  });

  test('imports only files that exist', () => {
    expect(
      violations(
        (source, { from }) =>
          from.startsWith('.') && !fs.existsSync(path.join(packagesDirectory, target(source, from))),
      ),
    ).toEqual([]);
  });

  test('uses only declared dependencies', () => {
    const undeclared = ({ isTestCode: ofTests }: Source, { from }: Import): boolean => {
      if (/^(\.|node:)/.test(from)) return false;
      const name = packageIn(from);
      return !(name in dependencies || (ofTests && (name in devDependencies || tools.includes(name))));
    };
    expect(violations(undeclared)).toEqual([]);
  });

  test('declares no unused dependencies', () => {
    const used = new Set(own.flatMap(({ imports }) => imports.map(({ from }) => packageIn(from))));
    expect(Object.keys(dependencies).filter((name) => name in devDependencies)).toEqual([]);
    expect(Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !used.has(name))).toEqual([]);
  });
});

/** Tests of every layer use the testkit. It has no index, so that a test loads only what it uses. */
const isTestkit = (source: Source, from: string): boolean => source.isTestCode && from.startsWith(`${scope}testkit/`);

/** Files of the same package; tests may also import test helpers of other packages, such as a real etcd. */
const mayReach = (source: Source, reached: string): boolean =>
  reached.startsWith(`${source.packageName}/`) || (source.isTestCode && /^[^/]+\/test\//.test(reached));

/** A package exports its `src/index.ts`, and some the one of each folder, so that a file says which part it uses. */
function isPublic(from: string): boolean {
  const name = packageNameIn(from);
  const folder = from.slice(`${scope}${name}`.length);
  const { exports = {} } = manifestOf(name);
  // An entry of its own, such as a program.
  if (folder !== '' && `.${folder}` in exports) return true;
  if (folder !== '' && !('./*' in exports)) return false;
  return fs.existsSync(path.join(packagesDirectory, name, 'src', folder, 'index.ts'));
}

const target = (source: Source, from: string): string => path.join(path.dirname(source.path), from);
const packageNameIn = (from: string): string => from.slice(scope.length).split('/', 1)[0] as string;
const packageIn = (from: string): string => from.split('/', from.startsWith('@') ? 2 : 1).join('/');
