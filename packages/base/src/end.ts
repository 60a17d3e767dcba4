/**
 * The end of something, such as a request, that others subscribe to. A subscription after the end is called back at once:
 * code that acquires something and subscribes its release need not know whether the end came first.
 */
export class End<Value extends object> {
  #listeners: ((value: Value) => void)[] | undefined;
  #value: Value | undefined;

  /** Calls back once. */
  subscribe(listener: (value: Value) => void): void {
    if (this.#value) listener(this.#value);
    else (this.#listeners ??= []).push(listener);
  }

  /** Only the first call counts. */
  reach(value: Value): void {
    if (this.#value) return;
    this.#value = value;
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    for (const listener of listeners) listener(value);
  }
}
