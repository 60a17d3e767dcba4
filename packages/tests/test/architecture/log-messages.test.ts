import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { parseSync } from '@swc/core';
import { packages, readSources } from './sources.ts';

/**
 * The log writes so many lines with one message and no more. So a client can fill it only by a message that varies with
 * its words: messages are literals, and what varies stands in fields.
 */
const computed: Readonly<Record<string, readonly [expression: string, reason: string][]>> = {
  'server/src/main.ts': [['what', 'one of two literals, and the process ends with it']],
  'server/src/wiring/listener.ts': [['what', 'a literal or one of callbackPlaces, see pipeline/src/node/guard.ts']],
};

interface LogCall {
  readonly file: string;
  readonly method: string;
  readonly message: string;
  readonly isLiteral: boolean;
  readonly fields: readonly string[];
}

/** The parser's tree, as far as it is asked for. */
interface Node {
  readonly type?: string;
  readonly value?: unknown;
  readonly callee?: Node;
  readonly object?: Node;
  readonly property?: Node;
  readonly key?: Node;
  readonly arguments?: readonly { readonly expression: Node }[];
  readonly properties?: readonly Node[];
  readonly quasis?: readonly { readonly cooked: string }[];
  readonly expressions?: readonly Node[];
}

const methods = new Set(['info', 'warn', 'error', 'debug']);

/** `log.info(…)` and `log.withName('etcd').info(…)`. */
const isLog = (node: Node | undefined): boolean =>
  node?.type === 'Identifier'
    ? node.value === 'log' || node.value === 'etcdLog'
    : node?.type === 'CallExpression' && node.callee?.property?.value === 'withName';

function logCallsIn(file: string): LogCall[] {
  const source = fs.readFileSync(path.join(packages, file), 'utf8');
  if (!/log\b/i.test(source)) return [];
  const calls: LogCall[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const node = value as Node;
    const { callee } = node;
    const method = callee?.type === 'MemberExpression' && isLog(callee.object) ? callee.property?.value : undefined;
    if (typeof method === 'string' && methods.has(method)) {
      const given = node.arguments?.map(({ expression }) => expression) ?? [];
      const [message, fields] = method === 'debug' ? given.slice(1) : given;
      if (message)
        calls.push({
          file,
          method: method === 'debug' ? `debug ${textOf(given[0])}` : method,
          message: textOf(message),
          isLiteral: message.type === 'StringLiteral',
          fields: fieldsOf(fields),
        });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(source, { syntax: 'typescript', target: 'es2024' }));
  return calls;
}

const fieldsOf = (fields: Node | undefined): string[] =>
  fields === undefined
    ? []
    : fields.type === 'ObjectExpression'
      ? (fields.properties ?? []).map((property) => textOf(property.key ?? property))
      : ['…'];

/** A name, a literal, or a template with the names in it. */
function textOf(node: Node | undefined): string {
  const { expressions, quasis, type, value, arguments: spread } = node ?? {};
  if (type === 'TemplateLiteral')
    return `\`${quasis?.map(({ cooked }, at) => cooked + (expressions?.[at] ? `\${${textOf(expressions[at])}}` : '')).join('')}\``;
  if (type === 'SpreadElement') return `...${textOf(spread as Node | undefined)}`;
  return value === undefined ? String(type) : String(value);
}

const calls = readSources()
  .filter(({ ofTests }) => !ofTests)
  .flatMap(({ path: file }) => logCallsIn(file));

test('log messages do not vary with what clients send', () => {
  const found: Record<string, string[]> = {};
  for (const { file, message, isLiteral } of calls) if (!isLiteral) (found[file] ??= []).push(message);
  const allowed = Object.entries(computed).map(([file, all]) => [file, all.map(([expression]) => expression)]);
  expect(found).toEqual(Object.fromEntries(allowed));
  expect(calls.length).toBeGreaterThan(50);
});

test('log messages end without a full stop', () => {
  expect(calls.filter(({ message }) => /[.!\s]$/.test(message))).toEqual([]);
});

test('log messages and their fields are those that were reviewed', () => {
  const lines = calls.map(({ file, method, message, fields }) =>
    [`${method.padEnd(7)} ${JSON.stringify(message)}`, ...fields, `(${file})`].join(' '),
  );
  expect(`${lines.sort().join('\n')}\n`).toMatchSnapshot();
});
