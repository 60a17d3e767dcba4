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

/** Path and query for request logs: the values of unknown parameters are hidden, since clients put tokens into queries. */
export const shownTarget = (target: string): string => hideValues(target, (name) => !shownParameters.has(name));

/**
 * Path and query for audit events, which record what clients sent: only the values of parameters whose names are those of
 * credentials are hidden, such as `access_token` (RFC 6750).
 */
export const auditedTarget = (target: string): string => hideValues(target, namesCredential);

const credentialNames = /token|secret|passw|credential|authorization|bearer|api[_-]?key|signature/i;

function namesCredential(name: string): boolean {
  if (!name.includes('%')) return credentialNames.test(name);
  try {
    return credentialNames.test(decodeURIComponent(name));
  } catch {
    return true; // no client knows what it names
  }
}

function hideValues(target: string, isHidden: (name: string) => boolean): string {
  const mark = target.indexOf('?');
  if (mark < 0) return target;
  const query = target
    .slice(mark + 1)
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 0) return isHidden(pair) && pair !== '' ? '[hidden]' : pair;
      const name = pair.slice(0, equals);
      return isHidden(name) ? `${name}=[hidden]` : pair;
    })
    .join('&');
  return `${target.slice(0, mark)}?${query}`;
}
