/**
 * Classifies the errors of etcd. Some differ in their text only: "compacted" and "future revision" share a status code,
 * and so do "no space" and "too many requests".
 */
import { StorageAccessDeniedError, StorageFullError, ValueTooLargeError } from '../errors.ts';
import { MessageTooLargeError } from './grpc-frames.ts';
import type { EtcdFault } from './transport.ts';

export type FaultClass =
  /** Another attempt may succeed. `maybeApplied` says whether this one may have been applied. */
  | { readonly kind: 'retry'; readonly maybeApplied: boolean; readonly isOverloaded: boolean }
  /** No attempt will succeed, so the call fails. */
  | { readonly kind: 'final'; readonly error: Error };

export function classifyFault(fault: EtcdFault): FaultClass {
  if (fault.kind === 'unsent') return { kind: 'retry', maybeApplied: false, isOverloaded: false };
  // Another attempt would receive the same.
  if (fault.cause instanceof MessageTooLargeError) return { kind: 'final', error: fault.cause };
  if (fault.kind === 'lost') return { kind: 'retry', maybeApplied: true, isOverloaded: false };
  for (const { text, classify } of knownMessages) if (fault.message.includes(text)) return classify(fault);
  if (accessCodes.has(fault.code)) return denied(fault);
  return finalCodes.has(fault.code)
    ? { kind: 'final', error: fault }
    : { kind: 'retry', maybeApplied: true, isOverloaded: false };
}

export const isCompacted = (error: unknown): boolean => hasMessage(error, 'required revision has been compacted');
export const isFutureRevision = (error: unknown): boolean =>
  hasMessage(error, 'required revision is a future revision');
export const isLeaseMissing = (error: unknown): boolean => hasMessage(error, 'requested lease not found');
export const isLeaseTaken = (error: unknown): boolean => hasMessage(error, 'lease already exists');

const hasMessage = (error: unknown, text: string): boolean => error instanceof Error && error.message.includes(text);

/** PERMISSION_DENIED, UNAUTHENTICATED. */
const accessCodes: ReadonlySet<number> = new Set([7, 16]);

/** INVALID_ARGUMENT, NOT_FOUND, FAILED_PRECONDITION, OUT_OF_RANGE, UNIMPLEMENTED. */
const finalCodes: ReadonlySet<number> = new Set([3, 5, 9, 11, 12]);

const denied = (cause: EtcdFault): FaultClass => ({
  kind: 'final',
  error: new StorageAccessDeniedError(`etcd refuses access: ${cause.message}`, { cause }),
});

const notProposed = (isOverloaded: boolean) => (): FaultClass => ({ kind: 'retry', maybeApplied: false, isOverloaded });
const tooLarge = (cause: EtcdFault): FaultClass => ({
  kind: 'final',
  error: new ValueTooLargeError('the value is larger than etcd takes', { cause }),
});

const knownMessages: readonly { text: string; classify: (fault: EtcdFault) => FaultClass }[] = [
  // Refused by the member before it proposed anything to the others.
  { text: 'etcdserver: no leader', classify: notProposed(false) },
  { text: 'etcdserver: too many requests', classify: notProposed(true) },
  { text: 'raft proposal dropped', classify: notProposed(false) },
  // The user of the client certificate does not exist (any more).
  { text: 'etcdserver: user name is empty', classify: denied },
  { text: 'etcdserver: user name not found', classify: denied },
  { text: 'etcdserver: request is too large', classify: tooLarge },
  { text: 'received message larger than max', classify: tooLarge },
  {
    text: 'database space exceeded',
    // A member also answers this to a write that was applied and took the last space.
    classify: (cause) => ({ kind: 'final', error: new StorageFullError('etcd has no space left', { cause }) }),
  },
];
