import type { GraphNode, Owner } from './graph.ts';
import { isTerminating } from './owner-state.ts';

/** The decision about a dependent: delete it, remove references to some owners, or undefined to leave it as it is. */
export type Verdict =
  | { readonly type: 'delete'; readonly propagationPolicy: 'Foreground' | undefined }
  | { readonly type: 'detach'; readonly from: readonly Owner[] }
  | undefined;

export function evaluateDependent({ object, owners, hasUnknownOwners }: GraphNode, hasDependents: boolean): Verdict {
  const isDeleting = isTerminating(object);
  const from = owners
    .map(({ owner }) => owner)
    .filter(({ state }) => state === 'orphan' || (!isDeleting && (state === 'absent' || state === 'foreground')));
  if (from.length === 0) return undefined;
  const isNeeded =
    hasUnknownOwners ||
    owners.some(({ owner: { state } }) => state === 'present' || state === 'unreadable' || state === 'orphan');
  if (isNeeded) return { type: 'detach', from };
  // An owner that waits for its dependents also waits for theirs.
  const isAwaited = owners.some(({ owner }) => owner.state === 'foreground');
  return { type: 'delete', propagationPolicy: isAwaited && hasDependents ? 'Foreground' : undefined };
}
