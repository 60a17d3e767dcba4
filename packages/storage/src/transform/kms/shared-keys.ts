import { BoundedMap } from './bounded-map.ts';

/**
 * Keys that were asked for, and those that are being asked for: many values share one, and a list of them must not
 * become as many calls. What is known is there at once.
 */
export class SharedKeys<Value extends object> {
  readonly #known: BoundedMap<string, Value>;
  readonly #asked = new Map<string, Promise<Value>>();

  constructor(keysMax: number) {
    this.#known = new BoundedMap(keysMax);
  }

  get(name: string, ask: () => Promise<Value>): Value | Promise<Value> {
    return this.#known.get(name) ?? this.#asked.get(name) ?? this.#ask(name, ask);
  }

  set(name: string, value: Value): void {
    this.#known.set(name, value);
  }

  #ask(name: string, ask: () => Promise<Value>): Promise<Value> {
    const asked = ask()
      .then((value) => {
        this.#known.set(name, value);
        return value;
      })
      .finally(() => this.#asked.delete(name));
    this.#asked.set(name, asked);
    return asked;
  }
}
