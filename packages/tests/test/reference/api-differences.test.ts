/** docs/api-differences.md lists what is served. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { kinds, reviews, type ReviewServices } from '@cluster-apiserver/kinds';
import { services } from '../../../kinds/test/services.ts';

const page = fs.readFileSync(
  path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'api-differences.md'),
  'utf8',
);

test('the page on API differences lists all served groups and kinds', () => {
  const served = [
    ...kinds(services).flatMap(({ versions }) => versions.filter(({ isServed }) => isServed)),
    ...reviews({} as ReviewServices),
  ]; // their services are not called
  const rows = new Map(
    Array.from(page.matchAll(/^\| `([a-z0-9./]*v1)` \| (.+) \|$/gm), ([, group = '', text = '']) => [group, text]),
  );
  const groups = new Set(served.map(({ group, version }) => (group === '' ? version : `${group}/${version}`)));
  expect([...rows.keys()].toSorted()).toEqual([...groups].toSorted());
  for (const { group, version, kind } of served) {
    const name = kind.endsWith('PolicyBinding') ? 'their bindings' : kind;
    expect(rows.get(group === '' ? version : `${group}/${version}`)).toContain(name);
  }
});
