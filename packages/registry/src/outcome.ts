import { type ByteString, toClientForm, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Revision } from '@cluster-apiserver/storage';

/** The object that a verb returns. Most responses only write its bytes, and never parse it. */
export interface Outcome {
  /** The revision of its last write; undefined for the result of a dry-run create. */
  readonly revision: Revision | undefined;
  /** The object's JSON as clients get it. */
  readonly json: ByteString;
  /** The canonical object without resourceVersion. */
  readonly object: KubeObject;
}

/** An object that was just written, or would be without a dry run. */
export class WrittenObject implements Outcome {
  readonly revision: Revision | undefined;
  readonly object: KubeObject;
  #stored: ByteString | undefined;

  constructor(object: KubeObject, revision: Revision | undefined, stored?: ByteString) {
    this.object = object;
    this.revision = revision;
    this.#stored = stored;
  }

  get json(): ByteString {
    this.#stored ??= encodeStored(this.object);
    return this.revision === undefined ? this.#stored : toClientForm(this.#stored, this.revision);
  }
}
