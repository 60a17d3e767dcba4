/** Whoever opens a thing registers its closing on the next line; closing runs in reverse and goes on after a failure. */
export class Scope {
  readonly #closings: { what: string; close: () => void | Promise<void> }[] = [];

  onClose(what: string, close: () => void | Promise<void>): void {
    this.#closings.push({ what, close });
  }

  async close(failed: (what: string, error: unknown) => void = () => {}): Promise<void> {
    for (let closing = this.#closings.pop(); closing; closing = this.#closings.pop()) {
      try {
        await closing.close();
      } catch (error) {
        failed(closing.what, error);
      }
    }
  }
}
