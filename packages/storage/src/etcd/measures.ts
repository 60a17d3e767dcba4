/** What is worth counting on the way to etcd. */
import type { Fate } from './transport.ts';

export type EtcdOperation = 'get' | 'list' | 'create' | 'update' | 'delete';

export interface EtcdMeasures {
  /** An operation of the store ended, with all its attempts. Conflicts are answers; `failed` is what etcd did not do. */
  operated(operation: EtcdOperation, resource: string, seconds: number, failed: boolean): void;
  /** One attempt at one member ended. */
  attempted(outcome: 'answered' | Fate): void;
  /** An attempt to write may have been applied. */
  doubted(): void;
  /** Nobody could tell what became of a write. */
  leftInDoubt(): void;
  /** An attempt to create was fenced off. */
  fenced(): void;
  /** A connection was opened and showed that it leads to the history that we know. */
  connected(): void;
  /** etcd refused a write because it is out of space. */
  outOfSpace(): void;
  /** A watch lost its connection, or was refused. */
  watchBroken(by: 'loss' | 'refusal'): void;
}

export const noMeasures: EtcdMeasures = {
  operated: () => {},
  attempted: () => {},
  doubted: () => {},
  leftInDoubt: () => {},
  fenced: () => {},
  connected: () => {},
  outOfSpace: () => {},
  watchBroken: () => {},
};
