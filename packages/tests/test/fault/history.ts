/**
 * The operations of all clients with their outcomes, recorded during a test and checked afterwards. All times are from
 * the monotonic clock of the test process.
 */
export interface Operation {
  /** Written into an annotation, so that etcd's log identifies the writer of each entry. */
  readonly id: string;
  readonly client: string;
  readonly action: Action;
  readonly invokedMs: number;
  readonly returnedMs: number;
  readonly outcome: Outcome;
}

export type Action = Write | Read;

export type Read =
  | { readonly verb: 'get'; readonly name: string }
  /** A list of all objects whose names begin with `within`, in chunks of `limit` objects or complete. */
  | { readonly verb: 'list'; readonly within: string; readonly limit?: number | undefined };

export type Write =
  | { readonly verb: 'create'; readonly name: string; readonly values: Values }
  | { readonly verb: 'delete'; readonly name: string }
  | Change
  /** Server-side apply of all fields that a manager wants, with or without force. */
  | (Changing & { readonly verb: 'apply'; readonly manager: string; readonly force: boolean });

/** A change of an existing object. */
type Change =
  | (Changing & { readonly verb: 'replace' })
  /** A JSON merge patch: unmentioned fields stay. */
  | (Changing & { readonly verb: 'merge' })
  /** A strategic merge patch, which merges secrets by name and removes some. */
  | (Changing & { readonly verb: 'strategic'; readonly removed: readonly FieldPath[] })
  /** A JSON patch that tests the counter and increments it. Undefined before the first increment. */
  | (Changing & { readonly verb: 'count'; readonly counted: string | undefined });

interface Changing {
  readonly name: string;
  readonly values: Values;
  /** The resourceVersion precondition; undefined for none. */
  readonly expected: number | undefined;
}

/** A field path: `annotations/…`, `labels/…` or `secrets/…`. */
export type FieldPath = string;

/** Field values that clients write. A secret is only a name, so its value is empty unless it is duplicated. */
export type Values = Readonly<Record<FieldPath, string>>;

export type Outcome =
  /** Written at this revision with this state; for a deletion, the last state. */
  | { readonly result: 'written'; readonly revision: number; readonly state: State }
  /** Deleted, by a response that names the object by its uid alone: that of custom resources. */
  | { readonly result: 'deleted'; readonly uid: string }
  /** Read as written at this revision. */
  | { readonly result: 'found'; readonly revision: number; readonly state: State }
  /** All objects at this revision: names with the revisions of the objects. */
  | { readonly result: 'listed'; readonly revision: number; readonly items: ReadonlyMap<string, number> }
  /** 410 for the rest of a list whose first chunk had this revision. */
  | { readonly result: 'expired'; readonly revision: number }
  | Refusal
  /** 503 with Retry-After: nothing was done, and a retry is safe. */
  | { readonly result: 'unavailable' }
  /** 504 for a write without Retry-After: the write may or may not have happened. */
  | { readonly result: 'in doubt' }
  /** No complete response, with the start time of the connection, if there was one. */
  | { readonly result: 'no response'; readonly why: string; readonly connectedMs: number | undefined }
  /** A response that no request justifies. */
  | { readonly result: 'invalid'; readonly what: string };

/** Rejected because of the current state, without an effect. */
export type Refusal =
  /** 404. */
  | { readonly result: 'absent' }
  /** 409 for a creation. */
  | { readonly result: 'exists' }
  /** 409 for a resourceVersion precondition that failed. */
  | { readonly result: 'conflict' }
  /** 409 for an apply that conflicts with other owners of these paths, in order. */
  | { readonly result: 'owned'; readonly places: readonly FieldPath[] }
  /** 422 for a test that failed. */
  | { readonly result: 'failed' };

/** Whether an operation may have taken effect without a response that says so. */
export const isAmbiguous = ({ result }: Outcome): boolean => result === 'no response' || result === 'in doubt';

/** Whether the response says that the write has taken effect. */
export const isAcknowledged = ({ result }: Outcome): boolean => result === 'written' || result === 'deleted';

/** Where an operation writes its id. */
export const operationIdPath = 'annotations/operation';

/** Where an apply writes its id: with a shared path, any two managers would conflict. */
export const applyIdPath = (manager: string): FieldPath => `annotations/applied-by-${manager}`;

export const counterPath = 'annotations/count';

/** An object as written at a revision. */
export interface StoredVersion {
  readonly revision: number;
  readonly state: State;
}

/** An entry of etcd's log. */
export interface Entry {
  readonly revision: number;
  /** `resource/namespace/name`: the key in etcd below the common prefix. */
  readonly name: string;
  /** Undefined for a deletion. */
  readonly state: State | undefined;
}

export interface State {
  readonly uid: string;
  readonly values: Values;
  /** Field paths by applying manager, and `updates` for all other writes; no entries without paths. */
  readonly owners: Owners;
}

export type Owners = Readonly<Record<string, readonly FieldPath[]>>;
export const updates = 'updates';

/** Equal for equal states, independent of order. */
export const canonicalText = ({ uid, values, owners }: State): string =>
  JSON.stringify([uid, sortedEntries(values), sortedEntries(owners, (places) => [...places].sort())]);

const sortedEntries = <T>(
  record: Readonly<Record<string, T>>,
  each: (value: T) => unknown = (value) => value,
): unknown =>
  Object.keys(record)
    .sort()
    .map((name) => [name, each(record[name] as T)]);

/** A requested compaction: from then on, earlier revisions may be unavailable. */
export interface Compaction {
  readonly revision: number;
  readonly requestedMs: number;
}

/** A revision is available as long as no compaction beyond it was requested. */
export const mayBeCompacted = (compactions: readonly Compaction[], revision: number, atMs: number): boolean =>
  compactions.some((compaction) => compaction.revision > revision && compaction.requestedMs <= atMs);

/** Describes an operation for violation messages. */
export function describeOperation({ id, action, outcome, invokedMs, returnedMs }: Operation): string {
  const items = 'items' in outcome ? { items: outcome.items.size } : {};
  const times = `${invokedMs.toFixed(1)}-${returnedMs.toFixed(1)} ms`;
  return `${id} ${JSON.stringify(action)} -> ${JSON.stringify({ ...outcome, ...items })} (${times})`;
}
