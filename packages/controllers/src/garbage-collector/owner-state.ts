import { foregroundFinalizer, orphanFinalizer } from '@cluster-apiserver/model/validation';
import type { CachedObject, StoredObject } from '@cluster-apiserver/registry';

/** What a deletion waits for: until blocking dependents are removed, or until all dependents are orphaned. */
export type Waiting = 'foreground' | 'orphan';

/**
 * The state of an owner. Absent is final: a uid is only known once its object exists, so an owner that
 * memory does not hold while it holds the dependent has been deleted.
 */
export type OwnerState = 'present' | 'absent' | 'unreadable' | Waiting;

export function ownerStateOf(item: CachedObject | undefined, uid: string): OwnerState {
  if (item?.unreadable) return 'unreadable';
  return item?.uid === uid ? (waitingOf(item) ?? 'present') : 'absent';
}

export function waitingOf({ lifecycle }: StoredObject): Waiting | undefined {
  if (lifecycle?.deletionTimestamp === undefined) return undefined;
  if (lifecycle.finalizers?.includes(orphanFinalizer)) return 'orphan';
  return lifecycle.finalizers?.includes(foregroundFinalizer) ? 'foreground' : undefined;
}

export const isTerminating = ({ lifecycle }: StoredObject): boolean => lifecycle?.deletionTimestamp !== undefined;
