import type { Part } from '@cluster-apiserver/model';
import type { Requester } from './admission.ts';

/** What every write brings along besides the object. */
export interface WriteOptions {
  /** Undefined for kinds that lie in no namespace. */
  readonly namespace: string | undefined;
  /** The part that is written; undefined for the object as a whole. */
  readonly part?: Part | undefined;
  /** Undefined for what the server does by itself. */
  readonly requester?: Requester | undefined;
  /** Everything happens but the writing. */
  readonly dryRun: boolean;
  /** Who writes, for the record of who owns which field. */
  readonly manager: string;
  /** Tells the client something although the write succeeds. */
  readonly warn: (text: string) => void;
}
