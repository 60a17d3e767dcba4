/** A limited number of places for work at a time. Others wait in the order of their arrival. */
export class Places {
  readonly #max: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** Whether some wait. */
  get isCrowded(): boolean {
    return this.#waiting.size > 0;
  }

  /** Calls back when there is a place, maybe at once. The returned function gives it back, or takes the wait back: call it once. */
  take(begin: () => void): () => void {
    const start = (): void => {
      this.#taken++;
      begin();
    };
    if (this.#taken < this.#max) start();
    else this.#waiting.add(start);
    return () => {
      if (this.#waiting.delete(start)) return;
      this.#taken--;
      for (const next of this.#waiting) {
        this.#waiting.delete(next);
        return next();
      }
    };
  }

  /** Works when there is a place, and gives it back afterwards. */
  use<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const leave = this.take(() => {
        void work()
          .then(resolve, reject)
          .finally(() => leave());
      });
    });
  }
}
