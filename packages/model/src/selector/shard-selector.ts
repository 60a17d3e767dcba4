import { requireFewCharacters, SelectorSyntaxError } from './selector-error.ts';

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
/** Each object of a list is compared with all of them. A client that takes part of the objects needs one or two. */
const rangesMax = 64;
const spaceEnd = 2n ** 64n;

/** Reads a selector such as `shardRange(object.metadata.uid, '0x0', '0x8000000000000000') || shardRange(…)`. */
export function parseShardSelector(text: string): ShardSelector {
  requireFewCharacters('shardSelector', text);
  const [first, ...others] = parseTerms(new Tokens(text));
  const other = others.find(({ path }) => path !== first.path);
  if (other) throw invalidSelector(`all ranges must be of one path, not of ${first.path} and ${other.path}`);
  return { path: first.path, ranges: [first, ...others].map(({ range }) => range) };
}

interface ShardTerm {
  readonly path: ShardPath;
  readonly range: ShardRange;
}

const blankForm = /(?:\s|\/\/[^\n]*)*/y;
const nameForm = /[A-Za-z_][A-Za-z0-9_]*/y;
/** A CEL string without escapes, which no bound needs. */
const stringForm = /[rR]?(?:'''([^\\]*?)'''|"""([^\\]*?)"""|'([^'\\\n]*)'|"([^"\\\n]*)")/y;

/** The selector is a CEL expression, so blanks and comments may stand between its tokens. */
class Tokens {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  accept(token: string): boolean {
    this.#match(blankForm);
    const found = this.#text.startsWith(token, this.#at);
    if (found) this.#at += token.length;
    return found;
  }

  require(token: string): void {
    if (!this.accept(token)) this.#fail();
  }

  requireName(): string {
    this.#match(blankForm);
    return this.#match(nameForm)?.[0] ?? this.#fail();
  }

  requireString(): string {
    this.#match(blankForm);
    const match = this.#match(stringForm) ?? this.#fail();
    return match.slice(1).find((content) => content !== undefined) ?? '';
  }

  requireEnd(): void {
    this.#match(blankForm);
    if (this.#at < this.#text.length) this.#fail();
  }

  #match(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.#at;
    const match = form.exec(this.#text);
    if (match) this.#at = form.lastIndex;
    return match;
  }

  #fail(): never {
    const rest = this.#text.slice(this.#at, this.#at + shownCharactersMax).trim();
    throw invalidSelector(`expected shardRange(path, '0x…', '0x…') || …, found ${JSON.stringify(rest)}`);
  }
}

const shownCharactersMax = 100;

/** The operands of `||`. Parentheses only group them, so it suffices to count those that are open. */
function parseTerms(tokens: Tokens): readonly [ShardTerm, ...ShardTerm[]] {
  let open = 0;
  const parseOperand = (): ShardTerm => {
    while (tokens.accept('(')) open++;
    const term = parseTerm(tokens);
    while (open > 0 && tokens.accept(')')) open--;
    return term;
  };
  const terms: [ShardTerm, ...ShardTerm[]] = [parseOperand()];
  while (tokens.accept('||')) {
    if (terms.push(parseOperand()) > rangesMax) throw invalidSelector(`it has more than ${rangesMax} ranges`);
  }
  if (open > 0) tokens.require(')');
  tokens.requireEnd();
  return terms;
}

function parseTerm(tokens: Tokens): ShardTerm {
  if (tokens.requireName() !== 'shardRange')
    throw invalidSelector("it has another operand than shardRange(path, '0x…', '0x…')");
  tokens.require('(');
  const path = parseArgument(tokens, parsePath);
  tokens.require(',');
  const from = parseArgument(tokens, () => tokens.requireString());
  tokens.require(',');
  const to = parseArgument(tokens, () => tokens.requireString());
  tokens.require(')');
  if (!isShardPath(path)) throw invalidSelector(`the path ${path} is none of ${paths.join(', ')}`);
  const [start, end] = [parseBound(from), parseBound(to)];
  if (start >= end) throw invalidSelector(`the range from ${from} to ${to} is empty`);
  return { path, range: { start: formatBound(start), end: formatBound(end) } };
}

/** An argument may stand in parentheses. */
function parseArgument(tokens: Tokens, parse: (tokens: Tokens) => string): string {
  let open = 0;
  while (tokens.accept('(')) open++;
  const argument = parse(tokens);
  for (; open > 0; open--) tokens.require(')');
  return argument;
}

function parsePath(tokens: Tokens): string {
  let path = tokens.requireName();
  while (tokens.accept('.')) path += `.${tokens.requireName()}`;
  return path;
}

const isShardPath = (path: string): path is ShardPath => paths.includes(path);

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
