import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { describeOldNode, requiredNode } from './required-node.ts';

test.each(['24.21.0', '24.22.1', '25.0.0'])('Node.js %s is new enough', (version) => {
  expect(describeOldNode(version)).toBeUndefined();
});

test.each(['18.0.0', '20.20.2', '24.9.0'])('Node.js %s is named with what is required', (version) => {
  expect(describeOldNode(version)).toBe(`Node.js ${requiredNode} or newer is required, and this is ${version}`);
});

test('the package requires the same version', () => {
  const file = path.join(import.meta.dirname, '..', 'package.json');
  const { engines } = JSON.parse(fs.readFileSync(file, 'utf8')) as { engines: { node: string } };
  expect(engines.node).toBe(`>=${requiredNode}`);
});

test('the entry point imports nothing else that an older Node.js could not load', () => {
  const entry = fs.readFileSync(path.join(import.meta.dirname, 'main.ts'), 'utf8');
  expect(entry.match(/^import .*$/gm)).toEqual(["import { describeOldNode } from './required-node.ts';"]);
});
