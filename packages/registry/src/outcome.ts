import { type ByteString, toClientForm, encodeStored, type KubeObject } from '@cluster-apiserver/model';
import type { Revision } from '@cluster-apiserver/storage';

/** An object as a verb gives it. Most answers never look inside: they write its bytes. */
export interface Outcome {
  /** When it was written; undefined when a dry run made an object that never was. */
  readonly revision: Revision | undefined;
  /** The object's JSON as clients get it. */
  readonly json: ByteString;
  /** The canonical object without resourceVersion. */
  readonly object: KubeObject;
}

/** An object that was just made. */
export class WrittenObject implements Outcome {
  readonly revision: Revision | undefined;
  readonly object: KubeObject;
  readonly #stored: ByteString;

  constructor(object: KubeObject, revision: Revision | undefined, stored = encodeStored(object)) {
    this.object = object;
    this.revision = revision;
    this.#stored = stored;
  }

  get json(): ByteString {
    return this.revision === undefined ? this.#stored : toClientForm(this.#stored, this.revision);
  }
}
