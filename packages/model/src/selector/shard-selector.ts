import { requireValue } from '@cluster-apiserver/base';
import { SelectorSyntaxError } from './label-selector.ts';

/** A parsed shard selector: the hash of one field must be in one of the ranges. */
export interface ShardSelector {
  readonly path: ShardPath;
  readonly ranges: readonly ShardRange[];
}

export type ShardPath = 'object.metadata.uid' | 'object.metadata.namespace';

/** Bounds as hexadecimal numbers of 16 digits, which are in order as strings; the end, exclusive, may be 2^64. */
export interface ShardRange {
  readonly start: string;
  readonly end: string;
}

const paths: readonly string[] = ['object.metadata.uid', 'object.metadata.namespace'] satisfies ShardPath[];
const isShardPath = (path: string): path is ShardPath => paths.includes(path);
/** Each object of a list is compared with all of them. A client that takes part of the objects needs one or two. */
const rangesMax = 64;
const spaceEnd = 2n ** 64n;
const termForm = /^\s*shardRange\s*\(\s*([^\s,()']+)\s*,\s*'([^']*)'\s*,\s*'([^']*)'\s*\)\s*$/;

/** Reads a selector such as `shardRange(object.metadata.uid, '0x0', '0x8000000000000000') || shardRange(…)`. */
export function parseShardSelector(text: string): ShardSelector {
  const texts = text.split('||');
  if (texts.length > rangesMax)
    throw invalidSelector(`it has ${texts.length} ranges, and at most ${rangesMax} are taken`);
  const terms = texts.map(parseTerm);
  const first = requireValue(terms[0], 'every text has a first part');
  const other = terms.find(({ path }) => path !== first.path);
  if (other) throw invalidSelector(`all ranges must be of one path, not of ${first.path} and ${other.path}`);
  return { path: first.path, ranges: terms.map(({ range }) => range) };
}

interface Term {
  readonly path: ShardPath;
  readonly range: ShardRange;
}

function parseTerm(text: string): Term {
  const match = termForm.exec(text);
  if (!match) throw invalidSelector(`${JSON.stringify(text.trim())} is no shardRange(path, '0x…', '0x…')`);
  const [, path = '', from = '', to = ''] = match;
  if (!isShardPath(path)) throw invalidSelector(`the path ${path} is none of ${paths.join(', ')}`);
  const [start, end] = [parseBound(from), parseBound(to)];
  if (start >= end) throw invalidSelector(`the range from ${from} to ${to} is empty`);
  return { path, range: { start: formatBound(start), end: formatBound(end) } };
}

function parseBound(text: string): bigint {
  if (!/^0x[0-9a-fA-F]{1,17}$/.test(text))
    throw invalidSelector(`the bound '${text}' is no hexadecimal number that begins with 0x`);
  const bound = BigInt(text);
  if (bound > spaceEnd) throw invalidSelector(`the bound '${text}' is greater than 2^64`);
  return bound;
}

const formatBound = (bound: bigint): string => bound.toString(16).padStart(16, '0');

const invalidSelector = (problem: string): SelectorSyntaxError =>
  new SelectorSyntaxError(`invalid shard selector: ${problem}`);

/** The selector in the form that an answer repeats it in. */
export const formatShardSelector = ({ path, ranges }: ShardSelector): string =>
  ranges.map(({ start, end }) => `shardRange(${path}, '0x${start}', '0x${end}')`).join(' || ');

/** 2^64 has a digit more than any hash, so as a string it is smaller than most of them. */
export const matchesShards = ({ ranges }: ShardSelector, hash: string): boolean =>
  ranges.some(({ start, end }) => start <= hash && (end.length > hash.length || hash < end));

/** The 64-bit FNV-1a hash of a text, as 16 hexadecimal digits; in halves, because BigInts are slow. */
export function shardHash(text: string): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of Buffer.from(text)) {
    low = (low ^ byte) >>> 0;
    // Times 2^40 + 0x1b3: the first part only reaches the high half.
    const product = low * 0x1b3;
    high = (high * 0x1b3 + Math.floor(product / 2 ** 32) + low * 2 ** 8) % 2 ** 32;
    low = product % 2 ** 32;
  }
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}
