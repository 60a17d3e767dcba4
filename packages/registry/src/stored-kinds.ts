import { invariant } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import { PrefixMap } from '@cluster-apiserver/storage';

/** Which kind a key of etcd belongs to, by the prefix under which the objects of the kind are stored. */
export class StoredKinds {
  /** Where the keys of all kinds begin, such as /registry. */
  readonly keyPrefix: string;
  readonly #byPrefix = new PrefixMap<Kind>();
  readonly #listeners: (() => void)[] = [];

  constructor(keyPrefix: string, kinds: readonly Kind[] = []) {
    this.keyPrefix = keyPrefix;
    for (const kind of kinds) this.add(kind);
  }

  add(kind: Kind): void {
    const prefix = this.prefixOf(kind);
    invariant(kind.versions[0] === kind, 'a copy of a kind is not the version in which its objects are stored');
    invariant(!this.#byPrefix.overlaps(prefix), 'objects of two kinds below one prefix would be taken for each other');
    this.#byPrefix.set(prefix, kind);
    this.#changed();
  }

  delete(kind: Kind): void {
    this.#byPrefix.delete(this.prefixOf(kind));
    this.#changed();
  }

  /** Where the keys of the objects of a kind begin. */
  prefixOf({ storage }: Kind): string {
    return `${this.keyPrefix}/${storage.prefix}/`;
  }

  ofKey(key: string): Kind | undefined {
    return this.#byPrefix.find(key);
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
