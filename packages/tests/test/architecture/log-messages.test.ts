import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { parseSync } from '@swc/core';
import { packagesDirectory, readSources } from './sources.ts';

/**
 * The log limits lines per message. Messages are therefore literals, and variable parts are fields; otherwise a client
 * could flood the log with varying messages. Exceptions, by file:
 */
const computed: Readonly<Record<string, readonly [expression: string, reason: string][]>> = {
  'server/src/program.ts': [['what', 'one of two literals, and the process ends with it']],
  'server/src/serving/listener.ts': [
    ['what', 'a literal or one of callbackPlaces, see pipeline/src/listener/measures.ts'],
  ],
};

interface LogCall {
  readonly file: string;
  readonly method: string;
  readonly message: string;
  readonly isLiteral: boolean;
  readonly fields: readonly string[];
}

/** The parts of the parser's syntax tree that are used here. */
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
  const source = fs.readFileSync(path.join(packagesDirectory, file), 'utf8');
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

/** The source text of a name, a literal, or a template. */
function textOf(node: Node | undefined): string {
  const { expressions, quasis, type, value, arguments: spread } = node ?? {};
  if (type === 'TemplateLiteral')
    return `\`${quasis?.map(({ cooked }, at) => cooked + (expressions?.[at] ? `\${${textOf(expressions[at])}}` : '')).join('')}\``;
  if (type === 'SpreadElement') return `...${textOf(spread as Node | undefined)}`;
  return value === undefined ? String(type) : String(value);
}

const calls = readSources()
  .filter(({ isTestCode: ofTests }) => !ofTests)
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

test('log messages and their fields match the reviewed snapshot', () => {
  const lines = calls.map(({ file, method, message, fields }) =>
    [`${method.padEnd(7)} ${JSON.stringify(message)}`, ...fields, `(${file})`].join(' '),
  );
  expect(`${lines.sort().join('\n')}\n`).toMatchSnapshot();
});
