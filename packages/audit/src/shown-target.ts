/** API parameters, whose values are safe to record. Values of other parameters may be secrets. */
const shownParameters: ReadonlySet<string> = new Set([
  'allowWatchBookmarks',
  'continue',
  'dryRun',
  'exclude',
  'fieldManager',
  'fieldSelector',
  'fieldValidation',
  'force',
  'gracePeriodSeconds',
  'hash',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'includeObject',
  'labelSelector',
  'limit',
  'orphanDependents',
  'pretty',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeout',
  'timeoutSeconds',
  'verbose',
  'watch',
]);

/**
 * Path and query for logs and audit events. Values of unknown parameters are hidden: clients put tokens into queries, such
 * as `access_token` (RFC 6750).
 */
export function shownTarget(target: string): string {
  const mark = target.indexOf('?');
  if (mark < 0) return target;
  const query = target
    .slice(mark + 1)
    .split('&')
    .map(shownPair)
    .join('&');
  return `${target.slice(0, mark)}?${query}`;
}

function shownPair(pair: string): string {
  const equals = pair.indexOf('=');
  if (equals < 0) return shownParameters.has(pair) || pair === '' ? pair : '[hidden]';
  const name = pair.slice(0, equals);
  return shownParameters.has(name) ? pair : `${name}=[hidden]`;
}
