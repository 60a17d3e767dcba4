import type { Authorizer } from './authorizer.ts';
import { noRules, type Rules } from './rules.ts';

/** What everybody may read whom authentication lets in: it is written for those who know nothing of us yet. */
export function openPaths(paths: readonly string[]): Authorizer {
  const rules: Rules =
    paths.length > 0 ? { ...noRules, nonResource: [{ verbs: ['get'], nonResourceURLs: paths }] } : noRules;
  return {
    authorize: ({ verb, path, resource }) => ({
      verdict: !resource && verb === 'get' && paths.includes(path) ? 'allow' : 'noOpinion',
    }),
    rulesOf: () => rules,
  };
}
