import type { Random } from '@cluster-apiserver/base';
import { tokens } from '../test/hostile/bodies.ts';
import { choose } from '../test/hostile/choose.ts';

/** Encodes a JSON value with mutations of some nodes; all other parts stay valid. */
export function mutateJson(random: Random, value: unknown, changesMax = 3): string {
  const nodes = countNodes(value);
  const changed = new Set(Array.from({ length: random.below(changesMax + 1) }, () => random.below(nodes)));
  let visited = 0;

  const write = (node: unknown): string => {
    const isChanged = changed.has(visited++);
    const text = Array.isArray(node)
      ? `[${node.map(write).join(',')}]`
      : isRecord(node)
        ? `{${members(node, isChanged && random.below(2) === 0).join(',')}}`
        : (JSON.stringify(node) ?? 'null'); // a randomly omitted member
    return isChanged ? choose(random, nodeMutations)(random, text) : text;
  };
  const members = (node: Readonly<Record<string, unknown>>, isChanged: boolean): string[] => {
    const texts = Object.entries(node).map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`);
    return isChanged ? choose(random, memberMutations)(random, texts) : texts;
  };
  return write(value);
}

const isRecord = (node: unknown): node is Readonly<Record<string, unknown>> =>
  typeof node === 'object' && node !== null;

const countNodes = (node: unknown): number =>
  1 + (isRecord(node) ? Object.values(node).reduce<number>((sum, member) => sum + countNodes(member), 0) : 0);

/** Lengths around the limits of names, labels, annotations and bodies. */
const boundaryLengths = [0, 1, 62, 63, 64, 127, 128, 253, 254, 255, 256, 1_023, 1_024, 1_025, 16_384, 65_536];
const boundaryNumbers = [
  ...['-1', '0', '-0', '1e0', '1.0', '127', '128', '2147483647', '2147483648', '-2147483649'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775807', '9223372036854775808'],
  ...['-9223372036854775809', '18446744073709551616', '1e308', '1e309', '1e-400', '123e99999', '0.30000000000000004'],
];
const depths = [2, 10, 100, 1_000, 5_000];
const awkwardNames = [
  ...['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'length'],
  ...['', '0', '-1', '$ref', '$patch', 'a.b/c', 'A', ' name', 'náme', '\u0000', 'f:metadata', '.', '..'],
];

type NodeMutation = (random: Random, text: string) => string;

const nodeMutations: readonly NodeMutation[] = [
  (random) => choose(random, tokens)(),
  (random) => choose(random, tokens)(),
  (random) => choose(random, boundaryNumbers),
  (random) => `"${'a'.repeat(choose(random, boundaryLengths))}"`,
  (random) => `"${choose(random, ['ä', '😀', '\\u0000', '\\ud800', '-', '.'])}"`,
  (random) => JSON.stringify(choose(random, awkwardNames)),
  (_, text) => `[${text}]`,
  (_, text) => `{"a":${text}}`,
  (_, text) => `[${text},${text}]`,
  (random, text) => `[${new Array<string>(choose(random, [3, 20, 200])).fill(text.slice(0, 400)).join(',')}]`,
  (random, text) => {
    const depth = choose(random, depths);
    return `${'['.repeat(depth)}${text}${']'.repeat(depth)}`;
  },
  (random, text) => {
    const depth = choose(random, depths);
    return `${'{"a":'.repeat(depth)}${text}${'}'.repeat(depth)}`;
  },
  (_, text) => JSON.stringify(text), // an object or list becomes a string
  () => 'null',
  () => '{}',
  () => '[]',
];

type MemberMutation = (random: Random, members: string[]) => string[];

const memberMutations: readonly MemberMutation[] = [
  (_, members) => [...members, ...members], // duplicates every key
  (random, members) => [...members, choose(random, members.length > 0 ? members : [''])],
  (_, members) => members.toReversed(),
  (random, members) => members.filter(() => random.below(3) > 0),
  (random, members) => [...members, `${JSON.stringify(choose(random, awkwardNames))}:${choose(random, tokens)()}`],
  (random, members) => members.map((text) => (random.below(3) === 0 ? text.toUpperCase() : text)),
  // Duplicate keys with different escapes.
  (random, members) => members.map((text) => (random.below(3) === 0 ? text.replace(/^"(.)/, escapeFirst) : text)),
  (random, members) => [
    ...members,
    ...Array.from({ length: choose(random, [10, 100, 1_000]) }, (_, at) => `"key-${at}":${at}`),
  ],
];

const escapeFirst = (_: string, first: string): string => `"\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}`;
