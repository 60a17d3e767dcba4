import { RE2JS } from 're2js';
import { FlagError } from '../flags.ts';

/** A page may be at any port of a host with the longest name there is; whatever is longer is no origin. */
const originCharactersMax = 300;

/** What `--cors-allowed-origins` says. The patterns are RE2's, so no Origin header can keep the server busy. */
export function compileAllowedOrigins(patterns: readonly string[]): (origin: string) => boolean {
  const read = patterns.map((pattern) => ({ pattern, expression: compilePattern(pattern) }));
  const faults = read.flatMap(({ pattern, expression }) => findPatternFault(pattern, expression));
  if (faults.length > 0) throw new FlagError(faults.map((fault) => `--cors-allowed-origins: ${fault}`));
  const expressions = read.flatMap(({ expression }) => expression ?? []);
  return (origin) =>
    origin.length <= originCharactersMax && expressions.some((expression) => expression.matcher(origin).find());
}

function compilePattern(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    return undefined;
  }
}

/** A pattern that is found inside of other hosts' names would let their pages in. */
function findPatternFault(pattern: string, expression: RE2JS | undefined): string[] {
  if (!expression) return [`${JSON.stringify(pattern)} is no regular expression`];
  const pinned = /\^|\/\//.test(pattern) && /[$:]/.test(pattern.replaceAll('://', ''));
  return pinned
    ? []
    : [`${JSON.stringify(pattern)} must begin at the host, with ^ or //, and end with it, with $ or (:|$)`];
}
