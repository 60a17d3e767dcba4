import { BoundedCache, Places } from '@cluster-apiserver/base';
import type { KmsMeasures } from './plugin-monitor.ts';

/** A page may need thousands of keys. With all calls at once, the last ones would time out. */
const concurrentLoadsMax = 100;

/**
 * A cache of decrypted keys. Concurrent requests for one key share a call, and a cached key is returned synchronously. A
 * loaded key is cached only when it has opened a value: otherwise one wrong answer of a plugin would last.
 */
export class KeyCache<Value extends object> {
  readonly #cached: BoundedCache<Value>;
  readonly #loading = new Map<string, Promise<Value>>();
  readonly #measures: Pick<KmsMeasures, 'cacheMissed' | 'cacheSized'>;
  readonly #loads = new Places(concurrentLoadsMax);

  constructor(keysMax: number, measures: Pick<KmsMeasures, 'cacheMissed' | 'cacheSized'>) {
    this.#cached = new BoundedCache({ entriesMax: keysMax });
    this.#measures = measures;
  }

  get(name: string, load: () => Promise<Value>): Value | Promise<Value> {
    return this.#cached.get(name) ?? this.#loading.get(name) ?? this.#load(name, load);
  }

  /** Caches a key that has opened a value. */
  confirm(name: string, value: Value): void {
    if (this.#cached.get(name) !== value) this.set(name, value);
  }

  set(name: string, value: Value): void {
    this.#cached.set(name, value);
    this.#measures.cacheSized(this.#cached.size);
  }

  #load(name: string, load: () => Promise<Value>): Promise<Value> {
    this.#measures.cacheMissed();
    const loading = this.#loads.use(load).finally(() => this.#loading.delete(name));
    this.#loading.set(name, loading);
    return loading;
  }
}
