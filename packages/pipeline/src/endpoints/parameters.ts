/** A query parameter. */
export interface Parameter {
  readonly name: string;
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

const all = {
  pretty: text(
    'When "true", the answer is laid out for reading. Browsers, curl and wget get that unless they say "false".',
  ),
  dryRun: text('With "All", the only value, everything is checked and answered as usual and nothing is kept.'),
  fieldManager: text(
    'Who is said to own the fields that are written: fewer than 128 printable characters. Needed for apply; otherwise the user agent up to its first slash counts.',
  ),
  fieldValidation: text(
    'What becomes of fields that are unknown or given twice: "Ignore" drops them, "Warn" (the default) drops them and says so in a warning, "Strict" refuses the request and lists all of them.',
  ),
  force: truth('Takes fields over from other managers instead of answering a conflict. For apply alone.'),
  gracePeriodSeconds: whole('Seconds before the object is deleted; 0 means immediately.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: truth(
    'Alpha, behind the feature gate AllowUnsafeMalformedObjectDeletion. Deletes an object that cannot be read from storage any more, without finalizers and preconditions. Needs the verb unsafe-delete-ignore-read-errors.',
  ),
  orphanDependents: truth('Deprecated; use propagationPolicy. Whether dependents stay. Not together with the other.'),
  propagationPolicy: text(
    'What becomes of dependents: "Orphan" leaves them, "Background" deletes them afterwards, "Foreground" deletes them first.',
  ),
  allowWatchBookmarks: truth('Whether a watch may tell, now and then, how far it has come. Only for watches.'),
  continue: text(
    'The token with which a list ended that had a limit: gives what comes after it, from the same snapshot.',
  ),
  fieldSelector: text('Only objects whose fields are like this, such as metadata.name=robot.'),
  labelSelector: text('Only objects whose labels are like this, such as team=a,tier!=test.'),
  limit: whole('How many objects to give at most. When there are more, the list says with which token to go on.'),
  resourceVersion: text('What the answer may be as old as; for a watch, where it begins.'),
  resourceVersionMatch: text('How resourceVersion is meant: "Exact" or "NotOlderThan".'),
  sendInitialEvents: truth(
    'With a watch: first an event for each object that there is, then a bookmark that says that these were all. Needs resourceVersionMatch "NotOlderThan".',
  ),
  shardSelector: text(
    "Alpha, behind the feature gate ShardedListAndWatch. Only objects whose hash is in a range: shardRange(object.metadata.uid, '0x0', '0x8000000000000000'), several of them joined by ||.",
  ),
  timeoutSeconds: whole('After how long the call ends, whatever happens.'),
  watch: truth('Gives changes as they happen instead of a list.'),
} satisfies Readonly<Record<string, Omit<Parameter, 'name'>>>;

type Name = keyof typeof all;

const named = (...names: readonly Name[]): readonly Parameter[] =>
  names.toSorted().map((name) => ({ name, ...all[name] }));

const ofDelete = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
] as const;
const ofSelection = [
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
  get: named('pretty'),
  write: named('pretty', 'dryRun', 'fieldManager', 'fieldValidation'),
  patch: named('pretty', 'dryRun', 'fieldManager', 'fieldValidation', 'force'),
  delete: named('pretty', ...ofDelete),
  deleteCollection: named('pretty', ...ofDelete, ...ofSelection),
  list: named('pretty', 'allowWatchBookmarks', 'watch', ...ofSelection),
};

function text(description: string): Omit<Parameter, 'name'> {
  return { type: 'string', description };
}
function truth(description: string): Omit<Parameter, 'name'> {
  return { type: 'boolean', description };
}
function whole(description: string): Omit<Parameter, 'name'> {
  return { type: 'integer', description };
}
