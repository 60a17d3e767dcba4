import { BoundedMap } from './bounded-map.ts';
import type { KmsMeasures } from './plugin-monitor.ts';

/** A page of values may want as many keys: asked for all of them at once, a plugin would answer the last ones too late. */
const concurrentLoadsMax = 100;

/**
 * Keys that were asked for, and those that are being asked for: many values share one, and a list of them must not
 * become as many calls. What is known is there at once.
 */
export class KeyCache<Value extends object> {
  readonly #known: BoundedMap<string, Value>;
  readonly #loading = new Map<string, Promise<Value>>();
  readonly #measures: Pick<KmsMeasures, 'cacheMissed' | 'cacheSized'>;

  #loadsRunning = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(keysMax: number, measures: Pick<KmsMeasures, 'cacheMissed' | 'cacheSized'>) {
    this.#known = new BoundedMap(keysMax);
    this.#measures = measures;
  }

  get(name: string, ask: () => Promise<Value>): Value | Promise<Value> {
    return this.#known.get(name) ?? this.#loading.get(name) ?? this.#load(name, ask);
  }

  set(name: string, value: Value): void {
    this.#known.set(name, value);
    this.#measures.cacheSized(this.#known.size);
  }

  #load(name: string, ask: () => Promise<Value>): Promise<Value> {
    this.#measures.cacheMissed();
    const asked = this.#acquireSlot()
      .then(ask)
      .then((value) => {
        this.set(name, value);
        return value;
      })
      .finally(() => {
        this.#loading.delete(name);
        this.#releaseSlot();
      });
    this.#loading.set(name, asked);
    return asked;
  }

  async #acquireSlot(): Promise<void> {
    if (this.#loadsRunning < concurrentLoadsMax) this.#loadsRunning++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #releaseSlot(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#loadsRunning--;
  }
}
