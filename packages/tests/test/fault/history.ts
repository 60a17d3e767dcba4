/**
 * What clients asked for and what they were told, written down while it happens and judged when all is over. Times are
 * of one clock, that of the process which all clients live in.
 */
export interface Operation {
  /** Carried by whatever it writes, in an annotation: so etcd's log tells whose write each one is. */
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
  /** Of one namespace or of all, and in chunks of so many objects or whole. */
  | { readonly verb: 'list'; readonly namespace?: string | undefined; readonly limit?: number | undefined };

export type Write =
  | { readonly verb: 'create'; readonly name: string; readonly values: Values }
  | { readonly verb: 'delete'; readonly name: string }
  | Change
  /** Says all that a manager wants, and takes it from others by force or not at all. */
  | (Changing & { readonly verb: 'apply'; readonly manager: string; readonly force: boolean });

/** Of what is there. */
type Change =
  | (Changing & { readonly verb: 'replace' })
  /** By a merge patch: what it does not mention stays. */
  | (Changing & { readonly verb: 'merge' })
  /** By a strategic merge patch, which merges the secrets by their names and takes some away. */
  | (Changing & { readonly verb: 'strategic'; readonly removed: readonly FieldPath[] })
  /** By a JSON patch that tests what was counted so far, and replaces it by one more. Undefined before the first. */
  | (Changing & { readonly verb: 'count'; readonly counted: string | undefined });

interface Changing {
  readonly name: string;
  readonly values: Values;
  /** The one revision that it may change; undefined for whatever is there. */
  readonly expected: number | undefined;
}

/** Where in an object something is written: `annotations/…`, `labels/…` or `secrets/…`. */
export type FieldPath = string;

/** What clients write. A secret is its name alone, so its value is empty; of one that is there twice it is not. */
export type Values = Readonly<Record<FieldPath, string>>;

export type Outcome =
  /** Written at this revision, and then like this; or removed, having been like this. */
  | { readonly result: 'written'; readonly revision: number; readonly state: State }
  /** Found as it was written at this revision. */
  | { readonly result: 'found'; readonly revision: number; readonly state: State }
  /** All there was at this revision: names with the revisions of their objects. */
  | { readonly result: 'listed'; readonly revision: number; readonly items: ReadonlyMap<string, number> }
  /** 410 for the rest of a list whose first chunk was of this revision. */
  | { readonly result: 'expired'; readonly revision: number }
  | Refusal
  /** 503 with the time to wait: nothing was done, and whoever tries again does it once. */
  | { readonly result: 'unavailable' }
  /** 504 for a write, which leaves open whether it happened; without an invitation to do it twice. */
  | { readonly result: 'in doubt' }
  /** No whole answer; with the time when the connection began, if there was one. */
  | { readonly result: 'no response'; readonly why: string; readonly connectedMs: number | undefined }
  /** An answer that nothing in the request justifies. */
  | { readonly result: 'invalid'; readonly what: string };

/** Nothing was done, because of what was there. */
export type Refusal =
  /** 404. */
  | { readonly result: 'absent' }
  /** 409 for a creation. */
  | { readonly result: 'exists' }
  /** 409 for whoever expected another revision. */
  | { readonly result: 'conflict' }
  /** 409 for whoever applies other values in these places than their owners, in order. */
  | { readonly result: 'owned'; readonly places: readonly FieldPath[] }
  /** 422 for a test that failed. */
  | { readonly result: 'failed' };

/** Whether an operation may have done what it was to do without anybody having been told. */
export const isAmbiguous = ({ result }: Outcome): boolean => result === 'no response' || result === 'in doubt';

/** Where an operation leaves its id in what it writes. */
export const operationIdPath = 'annotations/operation';

/** Whoever applies leaves it here instead: in a place of everybody, any two of them would be in conflict. */
export const applyIdPath = (manager: string): FieldPath => `annotations/applied-by-${manager}`;

export const counterPath = 'annotations/count';

/** An object as it was written at a revision. */
export interface StoredVersion {
  readonly revision: number;
  readonly state: State;
}

/** An entry of etcd's own log. */
export interface Entry {
  readonly revision: number;
  /** With its namespace, as in `namespace/name`. */
  readonly name: string;
  /** Undefined when the object was removed. */
  readonly state: State | undefined;
}

export interface State {
  readonly uid: string;
  readonly values: Values;
  /** Who applied which places, and `updates` for all other writes together; nobody without any. */
  readonly owners: Owners;
}

export type Owners = Readonly<Record<string, readonly FieldPath[]>>;
export const updates = 'updates';

/** Equal for states that are the same, in whatever order they say it. */
export const canonicalText = ({ uid, values, owners }: State): string =>
  JSON.stringify([uid, sortedEntries(values), sortedEntries(owners, (places) => [...places].sort())]);

const sortedEntries = <T>(
  record: Readonly<Record<string, T>>,
  each: (value: T) => unknown = (value) => value,
): unknown =>
  Object.keys(record)
    .sort()
    .map((name) => [name, each(record[name] as T)]);

/** When etcd was asked to forget everything before a revision: from then on it may have. */
export interface Compaction {
  readonly revision: number;
  readonly requestedMs: number;
}

/** What is true at a revision can be known as long as nobody has asked to forget it. */
export const mayBeCompacted = (compactions: readonly Compaction[], revision: number, atMs: number): boolean =>
  compactions.some((compaction) => compaction.revision > revision && compaction.requestedMs <= atMs);

/** For whoever has to find out what went wrong. */
export function describeOperation({ id, action, outcome, invokedMs, returnedMs }: Operation): string {
  const items = 'items' in outcome ? { items: outcome.items.size } : {};
  const times = `${invokedMs.toFixed(1)}-${returnedMs.toFixed(1)} ms`;
  return `${id} ${JSON.stringify(action)} -> ${JSON.stringify({ ...outcome, ...items })} (${times})`;
}
