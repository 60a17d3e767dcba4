/** A query parameter. */
export interface Parameter {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

const all = {
  pretty: stringParameter('If "true", the response is indented. Defaults to "true" for browsers, curl and wget.'),
  dryRun: stringParameter('If "All", the only valid value, the request is processed in full but not persisted.'),
  fieldManager: stringParameter(
    'Name of the manager of the fields that the request writes: fewer than 128 printable characters. Required for apply; defaults to the user agent up to its first slash.',
  ),
  fieldValidation: stringParameter(
    'Handling of unknown and duplicate fields: "Ignore" drops them, "Warn" (the default) drops them with a warning, "Strict" rejects the request and lists them.',
  ),
  force: booleanParameter('Takes over fields of other managers instead of returning a conflict. Only for apply.'),
  gracePeriodSeconds: integerParameter('Seconds before the object is deleted; 0 means immediately.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: booleanParameter(
    'Alpha, behind the feature gate AllowUnsafeMalformedObjectDeletion. Deletes an object that can no longer be read from storage, without finalizers and preconditions. Requires the verb unsafe-delete-ignore-read-errors.',
  ),
  orphanDependents: booleanParameter(
    'Deprecated; use propagationPolicy. Whether dependents are orphaned. Mutually exclusive with propagationPolicy.',
  ),
  propagationPolicy: stringParameter(
    'Garbage collection of dependents: "Orphan" keeps them, "Background" deletes them afterwards, "Foreground" deletes them first.',
  ),
  allowWatchBookmarks: booleanParameter('Requests watch events of type BOOKMARK. Only for watches.'),
  continue: stringParameter(
    'The continue token of the previous page of a list with a limit: returns the next page of the same snapshot.',
  ),
  fieldSelector: stringParameter('Restricts the objects by their fields, such as metadata.name=robot.'),
  labelSelector: stringParameter('Restricts the objects by their labels, such as team=a,tier!=test.'),
  limit: integerParameter('Maximum number of objects. If there are more, the list has a continue token.'),
  resourceVersion: stringParameter(
    'Constrains which resource versions a list may be served from; for a watch, where it begins.',
  ),
  resourceVersionMatch: stringParameter('Meaning of resourceVersion in a list: "Exact" or "NotOlderThan".'),
  sendInitialEvents: booleanParameter(
    'For watches: begins with an event for each existing object, and a bookmark that marks their end. Requires resourceVersionMatch "NotOlderThan".',
  ),
  shardSelector: stringParameter(
    "Alpha, behind the feature gate ShardedListAndWatch. Restricts the objects to those whose hash is in a range: shardRange(object.metadata.uid, '0x0', '0x8000000000000000'); several ranges are joined by ||.",
  ),
  timeoutSeconds: integerParameter('Limits the duration of the call.'),
  watch: booleanParameter('Watches for changes instead of returning a list.'),
} satisfies Readonly<Record<string, Omit<Parameter, 'name'>>>;

type Name = keyof typeof all;

const selectParameters = (...names: readonly Name[]): readonly Parameter[] =>
  names.toSorted().map((name) => ({ name, ...all[name] }));

const deleteParameters = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
] as const;
const listParameters = [
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'shardSelector',
  'timeoutSeconds',
] as const;

/** The query parameters of each verb. */
export const parametersOf = {
  /** Of every path. */
  path: selectParameters('pretty'),
  get: [],
  write: selectParameters('dryRun', 'fieldManager', 'fieldValidation'),
  patch: selectParameters('dryRun', 'fieldManager', 'fieldValidation', 'force'),
  delete: selectParameters(...deleteParameters),
  deleteCollection: selectParameters(...deleteParameters, ...listParameters),
  list: selectParameters('allowWatchBookmarks', 'watch', ...listParameters),
};

function stringParameter(description: string): Omit<Parameter, 'name'> {
  return { type: 'string', description };
}
function booleanParameter(description: string): Omit<Parameter, 'name'> {
  return { type: 'boolean', description };
}
function integerParameter(description: string): Omit<Parameter, 'name'> {
  return { type: 'integer', description };
}
