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
export function compilePathPatterns(patterns: readonly string[]): (path: string) => boolean {
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

/** Lets everybody read paths that are no resources, so that probes need no rights. Nobody's rules show it, as upstream. */
export const createPathAuthorizer = (matches: (path: string) => boolean): Authorizer => ({
  authorize: ({ verb, path, resource }: AccessQuestion) => ({
    verdict: !resource && readVerbs.includes(verb) && matches(path) ? 'allow' : 'noOpinion',
  }),
  rulesOf: () => noRules,
});

const readVerbs: readonly string[] = ['get', 'head'];
