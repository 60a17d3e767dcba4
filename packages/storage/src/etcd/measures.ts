/** What is counted about requests to etcd. */
import type { FaultKind } from './transport.ts';

export type EtcdOperation = 'get' | 'list' | 'create' | 'update' | 'delete';

export interface EtcdMeasures {
  /** An operation ended, with all its attempts. A conflict is a success; `failed` means that etcd was unavailable or full. */
  operationEnded(operation: EtcdOperation, key: string, seconds: number, failed: boolean): void;
  /** One attempt at one member ended. */
  attemptEnded(outcome: 'answered' | FaultKind): void;
  /** An attempt to write may have been applied. */
  attemptMaybeApplied(): void;
  /** A write ended without a known outcome. */
  writeOutcomeUnknown(): void;
  /** An attempt to create a key was fenced. */
  attemptFenced(): void;
  /** A new connection was verified. */
  connectionVerified(): void;
  /** etcd refused a write because it is out of space. */
  refusedForSpace(): void;
  /** A watch lost its connection, or was refused. */
  watchEnded(by: 'loss' | 'refusal'): void;
}

export const noMeasures: EtcdMeasures = {
  operationEnded: () => {},
  attemptEnded: () => {},
  attemptMaybeApplied: () => {},
  writeOutcomeUnknown: () => {},
  attemptFenced: () => {},
  connectionVerified: () => {},
  refusedForSpace: () => {},
  watchEnded: () => {},
};
