/** What is worth counting on the way to etcd. */
import type { FaultKind } from './transport.ts';

export type EtcdOperation = 'get' | 'list' | 'create' | 'update' | 'delete';

export interface EtcdMeasures {
  /** An operation of the store ended, with all its attempts. Conflicts are answers; `failed` is what etcd did not do. */
  operationEnded(operation: EtcdOperation, resource: string, seconds: number, failed: boolean): void;
  /** One attempt at one member ended. */
  attemptEnded(outcome: 'answered' | FaultKind): void;
  /** An attempt to write may have been applied. */
  attemptMaybeApplied(): void;
  /** Nobody could tell what became of a write. */
  writeOutcomeUnknown(): void;
  /** An attempt to create was fenced off. */
  attemptFenced(): void;
  /** A connection was opened and showed that it leads to the history that we know. */
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
