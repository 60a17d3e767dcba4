/**
 * What etcd's refusals mean for us. etcd tells some of them apart by their text alone: "compacted" and "future
 * revision" share a code, and so do "no space" and "too many requests".
 */
import { StorageFullError, ValueTooLargeError } from '../errors.ts';
import type { EtcdFault } from './transport.ts';

export type FaultClass =
  /** Another attempt, perhaps at another member, may succeed. `applied` says whether this one may have been applied. */
  | { readonly kind: 'retry'; readonly applied: 'no' | 'perhaps'; readonly isOverloaded: boolean }
  /** No attempt will succeed: the caller is told. */
  | { readonly kind: 'final'; readonly error: Error };

export function classifyFault(fault: EtcdFault): FaultClass {
  if (fault.kind === 'unsent') return { kind: 'retry', applied: 'no', isOverloaded: false };
  if (fault.kind === 'lost') return { kind: 'retry', applied: 'perhaps', isOverloaded: false };
  for (const { text, meaning } of knownMessages) if (fault.message.includes(text)) return meaning(fault);
  return finalCodes.has(fault.code)
    ? { kind: 'final', error: fault }
    : { kind: 'retry', applied: 'perhaps', isOverloaded: false };
}

export const isCompacted = (error: unknown): boolean => hasMessage(error, 'required revision has been compacted');
export const isFutureRevision = (error: unknown): boolean =>
  hasMessage(error, 'required revision is a future revision');
export const isLeaseMissing = (error: unknown): boolean => hasMessage(error, 'requested lease not found');
export const isLeaseTaken = (error: unknown): boolean => hasMessage(error, 'lease already exists');

const hasMessage = (error: unknown, text: string): boolean => error instanceof Error && error.message.includes(text);

/** INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED, UNAUTHENTICATED. */
const finalCodes: ReadonlySet<number> = new Set([3, 5, 7, 9, 11, 12, 16]);

const notProposed = (crowded: boolean) => (): FaultClass => ({ kind: 'retry', applied: 'no', isOverloaded: crowded });
const tooLarge = (cause: EtcdFault): FaultClass => ({
  kind: 'final',
  error: new ValueTooLargeError('the value is larger than etcd takes', { cause }),
});

const knownMessages: readonly { text: string; meaning: (fault: EtcdFault) => FaultClass }[] = [
  // Refused at the member's door, before anything was proposed to the others.
  { text: 'etcdserver: no leader', meaning: notProposed(false) },
  { text: 'etcdserver: too many requests', meaning: notProposed(true) },
  { text: 'raft proposal dropped', meaning: notProposed(false) },
  { text: 'etcdserver: request is too large', meaning: tooLarge },
  { text: 'received message larger than max', meaning: tooLarge },
  {
    text: 'database space exceeded',
    // A member says this also of a write that has been applied and took the last of the space.
    meaning: (cause) => ({ kind: 'final', error: new StorageFullError('etcd has no space left', { cause }) }),
  },
];
