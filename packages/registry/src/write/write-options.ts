import type { FieldSubresource } from '@cluster-apiserver/model/kind';
import type { Requester } from './admission.ts';

/** The options of every write. */
export interface WriteOptions {
  /** Undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** The subresource that is written; undefined for the object itself. */
  readonly subresource?: FieldSubresource | undefined;
  /** Undefined for writes of the server itself. */
  readonly requester?: Requester | undefined;
  /** Does everything except the write. */
  readonly dryRun: boolean;
  /** The field manager. */
  readonly manager: string;
  /** Sends a warning to the client. */
  readonly warn: (text: string) => void;
}
