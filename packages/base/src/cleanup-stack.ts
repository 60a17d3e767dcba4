/** Code that opens a resource defers its closing on the next line. Closing runs in reverse and continues after a failure. */
export class CleanupStack {
  readonly #cleanups: { name: string; close: () => void | Promise<void> }[] = [];

  defer(name: string, close: () => void | Promise<void>): void {
    this.#cleanups.push({ name, close });
  }

  async close(onError: (name: string, error: unknown) => void = () => {}): Promise<void> {
    for (let cleanup = this.#cleanups.pop(); cleanup; cleanup = this.#cleanups.pop()) {
      try {
        await cleanup.close();
      } catch (error) {
        onError(cleanup.name, error);
      }
    }
  }
}
