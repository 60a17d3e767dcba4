import type { NonResourceHandler } from '../non-resource/live-routes.ts';
import type { NonResourceRoutes } from '../non-resource/router.ts';

const root: NonResourceHandler = ({ auditId }, _, paths) => ({
  status: 200,
  headers: { 'audit-id': auditId, 'cache-control': 'no-cache, private', 'content-type': 'application/json' },
  body: Buffer.from(`${JSON.stringify({ paths: listPaths(paths()) }, null, 2)}\n`),
});

/** The non-resource paths, as kube-apiserver lists them. */
export const rootRoutes: NonResourceRoutes = { '/': root, '/index.html': root };

/** Without patterns, alternative spellings, and the index itself. */
const listPaths = (patterns: readonly string[]): readonly string[] =>
  patterns.filter((path) => !path.includes('*') && !path.endsWith('/') && path !== '/index.html').sort();

/** The first segments of paths for diagnostics. Discovery lists those of the API. */
export const listFolders = (patterns: readonly string[]): readonly string[] =>
  [...new Set(listPaths(patterns).map((path) => `/${path.split('/')[1] ?? ''}`))].filter(
    (folder) => !apiFolders.has(folder),
  );

const apiFolders: ReadonlySet<string> = new Set(['/apis', '/api', '/openid', '/openapi', '/.well-known']);
