import fs from 'node:fs';
import path from 'node:path';
import { parseSync } from '@swc/core';
import { packagesDirectory, readSources } from './sources.ts';

/** A call that logs a line, as its source says it. */
export interface LogCall {
  readonly file: string;
  readonly method: string;
  readonly message: string;
  readonly isLiteral: boolean;
  /** Of warnings and errors. */
  readonly remedy: string | undefined;
  /** The comment `// Meaning: …` above the message. */
  readonly meaning: string | undefined;
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

const meaningMark = 'Meaning: ';
const methods = new Set(['info', 'warn', 'error', 'debug']);

/** `log.info(…)` and `log.withName('etcd').info(…)`. */
const isLog = (node: Node | undefined): boolean =>
  node?.type === 'Identifier'
    ? /^(?:log|[a-z]+Log)$/.test(String(node.value))
    : node?.type === 'MemberExpression'
      ? node.property?.value === 'log' || node.property?.value === '#log'
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
      const hasRemedy = method === 'warn' || method === 'error';
      const [message, ...others] = method === 'debug' ? given.slice(1) : given;
      const fields = others[hasRemedy ? 1 : 0];
      if (message)
        calls.push({
          file,
          method: method === 'debug' ? `debug ${textOf(given[0])}` : method,
          message: textOf(message),
          isLiteral: message.type === 'StringLiteral' && (!hasRemedy || others[0]?.type === 'StringLiteral'),
          remedy: hasRemedy ? textOf(others[0]) : undefined,
          meaning: meaningOf(textOf(message), source),
          fields: fieldsOf(fields),
        });
    }
    if (node.type === 'ObjectExpression') calls.push(...entryOf(file, node, source));
    if (node.type === 'CallExpression' && callee?.value === 'createOutages')
      calls.push(...outageCalls(file, node, source));
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(source, { syntax: 'typescript', target: 'es2024' }));
  return calls;
}

/** The comment above the line of source code with the message. */
function meaningOf(message: string, source: string): string | undefined {
  const lines = source.split('\n');
  for (const [at, line] of lines.entries()) {
    if (!line.includes(`'${message}'`)) continue;
    const isCode = (above: string): boolean => !above.trimStart().startsWith('// ');
    const comment = lines.slice(lines.slice(0, at).findLastIndex(isCode) + 1, at);
    const text = comment.map((above) => above.trim().slice('// '.length)).join(' ');
    if (text.startsWith(meaningMark)) return text.slice(meaningMark.length);
  }
  return undefined;
}

/** The lines that `createOutages` writes. */
function outageCalls(file: string, node: Node, source: string): LogCall[] {
  const messages = new Map(
    node.arguments?.[2]?.expression.properties?.map(({ key, value }) => [textOf(key), textOf(value as Node)]),
  );
  const line = { file, isLiteral: true, fields: ['…'] };
  const method = messages.get('severity') === 'error' ? 'error' : 'warn';
  const began = messages.get('began') ?? '';
  return [
    { ...line, method, message: began, remedy: messages.get('remedy'), meaning: meaningOf(began, source) },
    { ...line, method: 'info', message: messages.get('ended') ?? '', remedy: undefined, meaning: undefined },
  ];
}

/** The line that the log writes about itself: a `LogEntry` instead of a call. */
function entryOf(file: string, node: Node, source: string): LogCall[] {
  const literalOf = ({ properties = [] }: Node, name: string): Node | undefined =>
    properties.find(({ key }) => textOf(key) === name)?.value as Node | undefined;
  const [severity, message, fields] = ['severity', 'message', 'fields'].map((name) => literalOf(node, name));
  if (severity?.value !== 'warning' || message?.type !== 'StringLiteral' || !fields) return [];
  const text = textOf(message);
  const remedy = textOf(literalOf(fields, 'remedy'));
  const line = { file, method: 'warn', message: text, isLiteral: true, remedy, meaning: meaningOf(text, source) };
  return [{ ...line, fields: fieldsOf(fields) }];
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

/** All calls of the product that log a line. Of the package of the log, only its own line: it gets the messages of others. */
export const readLogCalls = (): readonly LogCall[] =>
  readSources()
    .filter(
      ({ isTestCode, path: file }) =>
        !isTestCode && (!file.startsWith('telemetry/') || file === 'telemetry/src/log.ts'),
    )
    .flatMap(({ path: file }) => logCallsIn(file));
