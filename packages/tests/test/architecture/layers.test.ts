import { describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { type Import, manifestOf, packagesDirectory, readSources, packageNames, type Source } from './sources.ts';

/** A room may use the rooms on the lines above its own, and no other. */
const layers = [
  ['base'],
  ['telemetry', 'model', 'certificates'],
  ['expressions'],
  ['storage', 'gates', 'kinds', 'config', 'client'],
  ['registry', 'audit'],
  ['pipeline', 'controllers', 'policies'],
  ['server'],
  ['devcluster', 'tools'],
  ['tests'],
];
const layerOf = (room: string): number => layers.findIndex((line) => line.includes(room));

const scope = '@cluster-apiserver/';
const sources = readSources();
/** Tests run with the tools of the whole. */
const tools = Object.keys(manifestOf().devDependencies ?? {});

test('the sources are found, with what they import', () => {
  const index = sources.find((source) => source.path === 'registry/src/index.ts');
  expect(index?.imports.map(({ from }) => from)).toContain('./create.ts');
  expect(new Set(sources.map(({ packageName: room }) => room)).size).toBeGreaterThan(8);
});

test.each(packageNames)('%s has its place on the ladder', (room) => {
  expect(layerOf(room)).toBeGreaterThanOrEqual(0);
});

describe.each(packageNames)('%s', (room) => {
  const own = sources.filter((source) => source.packageName === room);
  const { dependencies = {}, devDependencies = {} } = manifestOf(room);
  const faults = (wrong: (source: Source, used: Import) => boolean): string[] =>
    own.flatMap((source) =>
      source.imports.filter((used) => wrong(source, used)).map(({ from }) => `${source.path} imports ${from}`),
    );

  test('uses only rooms above it', () => {
    expect(
      faults(
        (_, { from }) =>
          from.startsWith(scope) &&
          !(layerOf(packageNameIn(from)) >= 0 && layerOf(packageNameIn(from)) < layerOf(room)),
      ),
    ).toEqual([]);
  });

  test('enters other rooms by their door', () => {
    expect(faults((source, { from }) => from.startsWith('.') && !mayReach(source, target(source, from)))).toEqual([]);
    expect(faults((_, { from }) => from.startsWith(scope) && from !== scope + packageNameIn(from))).toEqual([]);
  });

  test('names the files that it means', () => {
    expect(
      faults(
        (source, { from }) =>
          from.startsWith('.') && !fs.existsSync(path.join(packagesDirectory, target(source, from))),
      ),
    ).toEqual([]);
  });

  test('uses only what it declares', () => {
    const undeclared = ({ isTestCode: ofTests }: Source, { from }: Import): boolean => {
      if (/^(\.|node:)/.test(from)) return false;
      const name = packageIn(from);
      return !(name in dependencies || (ofTests && (name in devDependencies || tools.includes(name))));
    };
    expect(faults(undeclared)).toEqual([]);
  });

  test('declares nothing that it does not use', () => {
    const used = new Set(own.flatMap(({ imports }) => imports.map(({ from }) => packageIn(from))));
    expect(Object.keys(dependencies).filter((name) => name in devDependencies)).toEqual([]);
    expect(Object.keys({ ...dependencies, ...devDependencies }).filter((name) => !used.has(name))).toEqual([]);
  });
});

/** Its own files; and tests may borrow what other rooms keep for theirs, such as a real etcd. */
const mayReach = (source: Source, reached: string): boolean =>
  reached.startsWith(`${source.packageName}/`) || (source.isTestCode && /^[^/]+\/test\//.test(reached));

const target = (source: Source, from: string): string => path.join(path.dirname(source.path), from);
const packageNameIn = (from: string): string => from.slice(scope.length).split('/', 1)[0] as string;
const packageIn = (from: string): string => from.split('/', from.startsWith('@') ? 2 : 1).join('/');
