import { invariant } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model';

/** Which kind a key of etcd belongs to, by the prefix under which the objects of the kind are stored. */
export class StoredKinds {
  /** Where the keys of all kinds begin, such as /registry. */
  readonly keyPrefix: string;
  #byPrefix: ReadonlyMap<string, Kind> = new Map();
  /** The most segments that a prefix has. */
  #segmentsMax = 0;
  readonly #listeners: (() => void)[] = [];

  constructor(keyPrefix: string, kinds: readonly Kind[] = []) {
    this.keyPrefix = keyPrefix;
    this.set(kinds);
  }

  set(kinds: readonly Kind[]): void {
    const byPrefix = new Map(kinds.map((kind) => [kind.storagePrefix, kind]));
    const outer = kinds.flatMap(({ storagePrefix }) => prefixesOf(storagePrefix));
    invariant(
      byPrefix.size === kinds.length && !outer.some((prefix) => byPrefix.has(prefix)),
      'objects of two kinds with one storage prefix, or one within the other, would be taken for each other',
    );
    this.#byPrefix = byPrefix;
    this.#segmentsMax = Math.max(0, ...kinds.map(({ storagePrefix }) => storagePrefix.split('/').length));
    for (const listener of this.#listeners) listener();
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  ofPrefix(storagePrefix: string): Kind | undefined {
    return this.#byPrefix.get(storagePrefix);
  }

  ofKey(key: string): Kind | undefined {
    const start = this.keyPrefix.length + 1;
    let end = start - 1;
    for (let segments = 0; segments < this.#segmentsMax; segments++) {
      end = key.indexOf('/', end + 1);
      if (end < 0) return undefined;
      const found = this.#byPrefix.get(key.slice(start, end));
      if (found) return found;
    }
    return undefined;
  }
}

/** `a` and `a/b`, of `a/b/c`. */
const prefixesOf = (path: string): readonly string[] => {
  const segments = path.split('/');
  return segments.slice(1).map((_, at) => segments.slice(0, at + 1).join('/'));
};
