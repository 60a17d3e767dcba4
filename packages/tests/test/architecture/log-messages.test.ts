import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { readLogCalls } from './log-calls.ts';
import { packagesDirectory } from './sources.ts';

const calls = readLogCalls();

/** The log limits lines per message: a client could flood it with messages that vary. docs/messages.md lists them. */
test('log messages and remedies are literals', () => {
  expect(calls.filter(({ isLiteral }) => !isLiteral)).toEqual([]);
  expect(calls.length).toBeGreaterThan(80);
});

test('each warning and error has a meaning, in sentences, above its message', () => {
  const warnings = calls.filter(({ remedy }) => remedy !== undefined);
  expect(warnings.length).toBeGreaterThan(50);
  expect(warnings.filter(({ meaning = '' }) => !/^(?:[A-Z`]|etcd ).+\.$/.test(meaning))).toEqual([]);
});

test('log messages end without a full stop', () => {
  expect(calls.filter(({ message }) => /[.!\s]$/.test(message))).toEqual([]);
});

test('log messages and their fields match the reviewed snapshot', () => {
  const lines = calls.map(({ file, method, message, fields }) =>
    [`${method.padEnd(7)} ${JSON.stringify(message)}`, ...fields, `(${file})`].join(' '),
  );
  expect(`${lines.sort().join('\n')}\n`).toMatchSnapshot();
});

test('the pages that remedies name exist', () => {
  const pages = calls.flatMap(({ remedy = '' }) => remedy.match(/docs\/[\w-]+\.md/g) ?? []);
  expect(pages.length).toBeGreaterThan(20);
  const root = path.join(packagesDirectory, '..');
  expect([...new Set(pages)].filter((page) => !fs.existsSync(path.join(root, page)))).toEqual([]);
});
