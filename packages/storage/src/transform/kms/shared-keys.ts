import { BoundedMap } from './bounded-map.ts';
import type { KmsMeasures } from './plugin.ts';

/** A page of values may want as many keys: asked for all of them at once, a plugin would answer the last ones too late. */
const questionsMax = 100;

/**
 * Keys that were asked for, and those that are being asked for: many values share one, and a list of them must not
 * become as many calls. What is known is there at once.
 */
export class SharedKeys<Value extends object> {
  readonly #known: BoundedMap<string, Value>;
  readonly #asked = new Map<string, Promise<Value>>();
  readonly #measures: Pick<KmsMeasures, 'missed' | 'held'>;

  #underWay = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(keysMax: number, measures: Pick<KmsMeasures, 'missed' | 'held'>) {
    this.#known = new BoundedMap(keysMax);
    this.#measures = measures;
  }

  get(name: string, ask: () => Promise<Value>): Value | Promise<Value> {
    return this.#known.get(name) ?? this.#asked.get(name) ?? this.#ask(name, ask);
  }

  set(name: string, value: Value): void {
    this.#known.set(name, value);
    this.#measures.held(this.#known.size);
  }

  #ask(name: string, ask: () => Promise<Value>): Promise<Value> {
    this.#measures.missed();
    const asked = this.#turn()
      .then(ask)
      .then((value) => {
        this.set(name, value);
        return value;
      })
      .finally(() => {
        this.#asked.delete(name);
        this.#over();
      });
    this.#asked.set(name, asked);
    return asked;
  }

  async #turn(): Promise<void> {
    if (this.#underWay < questionsMax) this.#underWay++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #over(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#underWay--;
  }
}
