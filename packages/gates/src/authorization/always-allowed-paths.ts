import type { AccessAttributes } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { noRules } from './rules.ts';

/** A pattern of `--authorization-always-allow-paths` with a `*` that is not at its end. */
export class PathPatternError extends Error {
  override readonly name = 'PathPatternError';
  constructor(pattern: string) {
    super(`${JSON.stringify(pattern)}: only a trailing * is allowed`);
  }
}

/** Compiles patterns to a predicate over decoded paths. Throws a PathPatternError. */
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

/** Allows all users to read these paths, so that probes need no permissions. As in kube-apiserver, rules do not list them. */
export const createPathAuthorizer = (matches: (path: string) => boolean): Authorizer => ({
  authorize: ({ verb, path, resource }: AccessAttributes) => ({
    verdict: !resource && readVerbs.includes(verb) && matches(path) ? 'allow' : 'noOpinion',
  }),
  rulesOf: () => noRules,
});

const readVerbs: readonly string[] = ['get', 'head'];
