import type { AccessRules } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { noRules } from './rules.ts';

/** What everybody may read whom authentication lets in: it is written for those who know nothing of us yet. */
export function openPaths(paths: readonly string[]): Authorizer {
  const rules: AccessRules =
    paths.length > 0 ? { ...noRules, nonResource: [{ verbs: ['get'], nonResourceURLs: paths }] } : noRules;
  return {
    authorize: ({ verb, path, resource }) => ({
      verdict: !resource && verb === 'get' && paths.includes(path) ? 'allow' : 'noOpinion',
    }),
    rulesOf: () => rules,
  };
}
