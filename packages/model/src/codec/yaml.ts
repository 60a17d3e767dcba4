import { setOwn } from '@cluster-apiserver/base';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  stringify,
  type Tags,
  type YAMLMap,
} from 'yaml';
import { isRawNumber, rawNumber } from '../schema/decode.ts';
import { MalformedTextError, type Parsed, type TextFault, parseJson } from './json.ts';

/**
 * YAML as the API's clients write it: version 1.1, as kubectl and its libraries read it (`yes` is true, `<<` merges).
 * The document is turned into plain values here and not by the library, whose own conversion takes minutes for a few
 * kilobytes of nested maps; here every node is visited once, and aliases count each time they are followed.
 */

/** Composing takes about half a microsecond a byte on the one thread that serves everybody. JSON may be larger. */
export const yamlBytesMax = 512 * 1024;
/** Nodes after following aliases: a text of that size without aliases stays below it. */
const nodesMax = 300_000;
const depthMax = 500;

export class YamlTooLargeError extends Error {
  override readonly name = 'YamlTooLargeError';
  constructor() {
    super(`YAML is taken up to ${yamlBytesMax} bytes; larger bodies must be JSON`);
  }
}

export function parseYaml(text: string): Parsed {
  // Every JSON text is YAML too, and the JSON parser is a hundred times faster.
  if (/^\s*\{/.test(text)) {
    try {
      return parseJson(text);
    } catch (error) {
      if (!(error instanceof MalformedTextError)) throw error;
    }
  }
  if (Buffer.byteLength(text) > yamlBytesMax) throw new YamlTooLargeError();
  const lines = new LineCounter();
  const document = composed(text, lines);
  // Several documents are no mistake: the first one counts.
  const mistake = document.errors.find((error) => error.code !== 'MULTIPLE_DOCS');
  if (mistake) throw new MalformedTextError(`yaml: ${mistake.message.split('\n')[0]}`);
  const faults: TextFault[] = [];
  let targets: ReadonlyMap<Alias, Node> | undefined;
  const value = plainValue(document.contents, {
    targets: () => (targets ??= targetsIn(document.contents)),
    budget: { nodes: nodesMax },
    depth: 0,
    duplicate: (key, offset) =>
      faults.push({
        path: undefined,
        message: `yaml: line ${lines.linePos(offset).line}: key "${key}" already set in map`,
      }),
  });
  return { value, faults };
}

function composed(text: string, lineCounter: LineCounter): Document.Parsed {
  try {
    return parseDocument(text, {
      version: '1.1',
      lineCounter,
      uniqueKeys: false, // compared pair by pair there; by a set here
      intAsBigInt: true,
      customTags: (tags) =>
        tags.filter((tag) => typeof tag === 'string' || !withoutJson.has(tag.tag)).map(withoutLetters),
    });
  } catch (error) {
    throw new MalformedTextError(`yaml: ${(error as Error).message}`, { cause: error });
  }
}

/** What JSON has no value for stays the string that was written. */
const withoutJson = new Set(['binary', 'omap', 'pairs', 'set', 'timestamp'].map((name) => `tag:yaml.org,2002:${name}`));

/** `y` and `n` stay texts: as keys they name coordinates far more often than they answer a question. */
function withoutLetters(tag: Tags[number]): Tags[number] {
  if (typeof tag === 'string' || tag.tag !== 'tag:yaml.org,2002:bool' || !('test' in tag) || !tag.test) return tag;
  return { ...tag, test: new RegExp(`^(?![ynYN]$)(?:${tag.test.source})`) };
}

interface Conversion {
  readonly targets: () => ReadonlyMap<Alias, Node>;
  readonly budget: { nodes: number };
  readonly depth: number;
  readonly duplicate: (key: string, offset: number) => void;
}

function plainValue(node: Node | ParsedNode | null | undefined, conversion: Conversion): unknown {
  if (--conversion.budget.nodes < 0) throw new MalformedTextError('yaml: the document contains excessive aliasing');
  if (conversion.depth > depthMax) throw new MalformedTextError(`yaml: nested deeper than ${depthMax} levels`);
  if (node === null || node === undefined) return null;
  if (isAlias(node)) return plainValue(target(node, conversion), { ...conversion, depth: conversion.depth + 1 });
  if (isScalar(node)) return scalar(node.value);
  const inside = { ...conversion, depth: conversion.depth + 1 };
  if (isSeq(node)) return node.items.map((item) => plainValue(item as Node, inside));
  if (isMap(node)) return mapValue(node, inside);
  throw new MalformedTextError('yaml: a node of no known form');
}

function target(alias: Alias, { targets }: Conversion): Node {
  const found = targets().get(alias);
  if (!found) throw new MalformedTextError(`yaml: unknown anchor '${alias.source}' referenced`);
  return found;
}

/**
 * What each alias stands for: the last node before it with its name. The library would walk through the document for
 * each alias that is followed, which takes minutes for a text full of them.
 */
function targetsIn(root: Node | null): ReadonlyMap<Alias, Node> {
  const targets = new Map<Alias, Node>();
  const anchors = new Map<string, Node>();
  const walk = (node: unknown, depth: number): void => {
    if (!isNode(node) || depth > depthMax) return; // what lies deeper is refused when it is reached
    if (isAlias(node)) {
      const found = anchors.get(node.source);
      if (found) targets.set(node, found);
      return;
    }
    if (node.anchor) anchors.set(node.anchor, node);
    if (isSeq(node)) for (const item of node.items) walk(item, depth + 1);
    if (!isMap(node)) return;
    for (const { key, value } of node.items) {
      walk(key, depth + 1);
      walk(value, depth + 1);
    }
  };
  walk(root, 0);
  return targets;
}

function mapValue(map: YAMLMap, conversion: Conversion): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const merged: Record<string, unknown>[] = [];
  const own = new Set<string>();
  for (const { key, value } of map.items) {
    if (isScalar(key) && key.type === 'PLAIN' && key.source === '<<') {
      const parts = plainValue(value as Node, conversion);
      for (const part of Array.isArray(parts) ? parts : [parts]) {
        if (typeof part !== 'object' || part === null)
          throw new MalformedTextError('yaml: map merge requires map or sequence of maps as the value');
        merged.push(part as Record<string, unknown>);
      }
      continue;
    }
    const name = plainValue(key as Node, conversion);
    if (typeof name === 'object' && name !== null) throw new MalformedTextError('yaml: a key that is a map or a list');
    const text = String(name);
    if (own.has(text)) conversion.duplicate(text, (key as Node).range?.[0] ?? 0);
    own.add(text);
    setOwn(out, text, plainValue(value as Node, conversion));
  }
  // What the map says itself wins over what it merges; of several merged maps the first wins.
  for (const part of merged)
    for (const [key, value] of Object.entries(part)) if (!Object.hasOwn(out, key)) setOwn(out, key, value);
  return out;
}

function scalar(value: unknown): unknown {
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : rawNumber(value.toString());
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new MalformedTextError(`yaml: ${value} has no place in JSON`);
  if (typeof value === 'string') return value.toWellFormed();
  return typeof value === 'symbol' || value === undefined ? null : value;
}

/** A value as YAML that the same readers understand: what they would take for a number or a boolean is quoted. */
export const formatYaml = (value: unknown): string =>
  stringify(value, exactIntegers, { version: '1.1', aliasDuplicateObjects: false });

/** An integer beyond 2^53 keeps its digits here too. */
const exactIntegers = (_key: unknown, value: unknown): unknown =>
  isRawNumber(value) ? (/^-?[0-9]+$/.test(value.rawJSON) ? BigInt(value.rawJSON) : Number(value.rawJSON)) : value;
