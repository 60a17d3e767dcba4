import type { AccessQuestion } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { noRules } from './rules.ts';

/** Paths as `--authorization-always-allow-paths` names them: whole ones, or beginnings with a `*` at their end. */
export class PathPatternError extends Error {
  override readonly name = 'PathPatternError';
  constructor(pattern: string) {
    super(`${JSON.stringify(pattern)}: only a trailing * is allowed`);
  }
}

/** Whether a decoded path is one of them. Throws PathPatternError. */
export function pathMatcher(patterns: readonly string[]): (path: string) => boolean {
  const paths = new Set<string>();
  const prefixes: string[] = [];
  for (const pattern of patterns) {
    const rooted = pattern.startsWith('/') ? pattern : `/${pattern}`;
    if (rooted.slice(0, -1).includes('*')) throw new PathPatternError(pattern);
    if (rooted.endsWith('*')) prefixes.push(rooted.slice(0, -1));
    else paths.add(rooted);
  }
  return (path) => paths.has(path) || prefixes.some((prefix) => path.startsWith(prefix));
}

/**
 * Allows everybody to read these paths, so that probes need no rights, and nothing else: acting as somebody else there
 * needs the right to impersonate, as anywhere. Nobody's rules show it, as upstream.
 */
export const alwaysAllowedPaths = (matches: (path: string) => boolean): Authorizer => ({
  authorize: ({ verb, path, resource }: AccessQuestion) => ({
    verdict: !resource && (verb === 'get' || verb === 'head') && matches(path) ? 'allow' : 'noOpinion',
  }),
  rulesOf: () => noRules,
});
