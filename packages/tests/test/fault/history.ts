/**
 * What clients asked for and what they were told, written down while it happens and judged when all is over. Times are
 * of one clock, that of the process which all clients live in.
 */
export interface Attempt {
  /** Carried by whatever it writes, as an annotation: so etcd's log tells whose write each one is. */
  readonly id: string;
  readonly client: string;
  readonly action: Action;
  readonly invokedMs: number;
  readonly returnedMs: number;
  readonly outcome: Outcome;
}

export type Action =
  | { readonly verb: 'create' | 'patch' | 'delete' | 'get'; readonly name: string }
  /** With the revision that it expects, or over whatever is there. */
  | { readonly verb: 'replace'; readonly name: string; readonly expected: number | undefined }
  /** Of one namespace or of all, and in chunks of so many objects or whole. */
  | { readonly verb: 'list'; readonly namespace?: string | undefined; readonly limit?: number | undefined };

export type Outcome =
  /** Written, or removed, at this revision. */
  | { readonly told: 'written'; readonly revision: number }
  /** Found as some attempt had left it at this revision. */
  | { readonly told: 'found'; readonly revision: number; readonly attempt: string | undefined }
  /** All there was at this revision: names with the revisions of their objects. */
  | { readonly told: 'listed'; readonly revision: number; readonly items: ReadonlyMap<string, number> }
  /** 410 for the rest of a list whose first chunk was of this revision. */
  | { readonly told: 'expired'; readonly revision: number }
  /** 404. */
  | { readonly told: 'absent' }
  /** 409 for a creation. */
  | { readonly told: 'exists' }
  /** 409 for a replacement that expected another revision. */
  | { readonly told: 'conflict' }
  /** 503, which leaves open whether a write happened. */
  | { readonly told: 'unavailable' }
  /** No whole answer; with the time when the connection began, if there was one. */
  | { readonly told: 'nothing'; readonly why: string; readonly connectedMs: number | undefined }
  /** An answer that nothing in the request justifies. */
  | { readonly told: 'nonsense'; readonly what: string };

/** Whether an attempt may have done what it was to do without anybody having been told. */
export const leavesOpen = ({ told }: Outcome): boolean => told === 'nothing' || told === 'unavailable';

/** The annotation with the id of the attempt that wrote an object last. */
export const attemptAnnotation = 'attempt';

/** A patch leaves everything as it is but its id, under two names: what it changed must show what it found. */
export const patchAnnotation = (client: string): string => `patched-by-${client}`;

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
  readonly annotations: Readonly<Record<string, string>>;
}

/** When etcd was asked to forget everything before a revision: from then on it may have. */
export interface Compaction {
  readonly revision: number;
  readonly askedMs: number;
}

/** What is true at a revision can be known as long as nobody has asked to forget it. */
export const mayBeForgotten = (compactions: readonly Compaction[], revision: number, atMs: number): boolean =>
  compactions.some((compaction) => compaction.revision > revision && compaction.askedMs <= atMs);

/** For whoever has to find out what went wrong. */
export function describe({ id, action, outcome, invokedMs, returnedMs }: Attempt): string {
  const items = 'items' in outcome ? { items: outcome.items.size } : {};
  const times = `${invokedMs.toFixed(1)}-${returnedMs.toFixed(1)} ms`;
  return `${id} ${JSON.stringify(action)} -> ${JSON.stringify({ ...outcome, ...items })} (${times})`;
}
