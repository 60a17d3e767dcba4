/**
 * What etcd's refusals mean for us. etcd tells some of them apart by their text alone: "compacted" and "future
 * revision" share a code, and so do "no space" and "too many requests".
 */
import { StorageFullError, ValueTooLargeError } from '../errors.ts';
import type { EtcdFault } from './transport.ts';

export type Meaning =
  /** Another attempt, perhaps at another member, may succeed. `applied` says whether this one may have been applied. */
  | { readonly kind: 'retry'; readonly applied: 'no' | 'perhaps'; readonly crowded: boolean }
  /** No attempt will succeed: the caller is told. */
  | { readonly kind: 'final'; readonly error: Error };

export function meaningOf(fault: EtcdFault): Meaning {
  if (fault.fate === 'unsent') return { kind: 'retry', applied: 'no', crowded: false };
  if (fault.fate === 'lost') return { kind: 'retry', applied: 'perhaps', crowded: false };
  for (const { text, meaning } of knownTexts) if (fault.message.includes(text)) return meaning(fault);
  return finalCodes.has(fault.code)
    ? { kind: 'final', error: fault }
    : { kind: 'retry', applied: 'perhaps', crowded: false };
}

export const isCompacted = (error: unknown): boolean => refusedWith(error, 'required revision has been compacted');
export const isFutureRevision = (error: unknown): boolean =>
  refusedWith(error, 'required revision is a future revision');
export const isLeaseMissing = (error: unknown): boolean => refusedWith(error, 'requested lease not found');
export const isLeaseTaken = (error: unknown): boolean => refusedWith(error, 'lease already exists');

const refusedWith = (error: unknown, text: string): boolean => error instanceof Error && error.message.includes(text);

/** INVALID_ARGUMENT, NOT_FOUND, PERMISSION_DENIED, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED, UNAUTHENTICATED. */
const finalCodes: ReadonlySet<number> = new Set([3, 5, 7, 9, 11, 12, 16]);

const untouched = (crowded: boolean) => (): Meaning => ({ kind: 'retry', applied: 'no', crowded });
const tooLarge = (cause: EtcdFault): Meaning => ({
  kind: 'final',
  error: new ValueTooLargeError('the value is larger than etcd takes', { cause }),
});

const knownTexts: readonly { text: string; meaning: (fault: EtcdFault) => Meaning }[] = [
  // Refused at the member's door, before anything was proposed to the others.
  { text: 'etcdserver: no leader', meaning: untouched(false) },
  { text: 'etcdserver: too many requests', meaning: untouched(true) },
  { text: 'raft proposal dropped', meaning: untouched(false) },
  { text: 'etcdserver: request is too large', meaning: tooLarge },
  { text: 'received message larger than max', meaning: tooLarge },
  {
    text: 'database space exceeded',
    // A member says this also of a write that has been applied and took the last of the space.
    meaning: (cause) => ({ kind: 'final', error: new StorageFullError('etcd has no space left', { cause }) }),
  },
];
