import type { Authorizer } from './authorizer.ts';

/** What everybody may read whom authentication lets in: it is written for those who know nothing of us yet. */
export const openPaths = (paths: readonly string[]): Authorizer => ({
  authorize: ({ verb, path, resource }) =>
    !resource && verb === 'get' && paths.includes(path) ? { verdict: 'allow' } : { verdict: 'noOpinion' },
});
