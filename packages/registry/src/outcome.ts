import { clientForm, decodeStored, encodeStored, type KubeObject } from '@cluster-apiserver/model';
import type { Revision, Stored } from '@cluster-apiserver/storage';

/**
 * An object as a verb gives it: its stored bytes and when they were written. Most answers never look inside, so the
 * object is parsed when somebody asks.
 */
export class Outcome {
  /** Undefined when a dry run made an object that was never written. */
  readonly revision: Revision | undefined;
  /** The canonical JSON without resourceVersion. */
  readonly storedBytes: Buffer;
  #object: KubeObject | undefined;

  constructor(bytes: Buffer, revision: Revision | undefined, object?: KubeObject) {
    this.storedBytes = bytes;
    this.revision = revision;
    this.#object = object;
  }

  static ofStored = ({ value, revision }: Stored): Outcome => new Outcome(value, revision);
  static ofObject = (object: KubeObject, revision: Revision | undefined): Outcome =>
    new Outcome(encodeStored(object), revision, object);

  /** The canonical object without resourceVersion. */
  get object(): KubeObject {
    this.#object ??= decodeStored(this.storedBytes);
    return this.#object;
  }

  /** The object's JSON as clients get it. */
  get json(): Buffer {
    return this.revision === undefined ? this.storedBytes : clientForm(this.storedBytes, String(this.revision));
  }
}
