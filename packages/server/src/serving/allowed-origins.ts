import { RE2JS } from 're2js';

/** A scheme, the longest possible host name and a port fit; longer values are not origins. */
const originCharactersMax = 300;

/** Compiles `--cors-allowed-origins`. RE2 matches in linear time, so no Origin header can block the event loop. */
export function compileAllowedOrigins(patterns: readonly string[], problems: string[]): (origin: string) => boolean {
  const read = patterns.map((pattern) => ({ pattern, expression: compilePattern(pattern) }));
  const faults = read.flatMap(({ pattern, expression }) => findPatternFault(pattern, expression));
  problems.push(...faults.map((fault) => `--cors-allowed-origins: ${fault}`));
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

/** An unanchored pattern would also match in the middle of other host names, and allow their pages. */
function findPatternFault(pattern: string, expression: RE2JS | undefined): string[] {
  if (!expression) return [`${JSON.stringify(pattern)} is no regular expression`];
  const pinned = /\^|\/\//.test(pattern) && /[$:]/.test(pattern.replaceAll('://', ''));
  return pinned
    ? []
    : [`${JSON.stringify(pattern)} must begin at the host, with ^ or //, and end with it, with $ or (:|$)`];
}
