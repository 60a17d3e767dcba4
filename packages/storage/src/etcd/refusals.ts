/** What etcd refuses although it responds. Reports when a refusal begins and when it ends. */
import type { EtcdEvent } from './client.ts';

type RefusalKind = 'full' | 'watch';

const events: Readonly<Record<RefusalKind, { began: (cause: unknown) => EtcdEvent; ended: EtcdEvent }>> = {
  full: { began: () => ({ type: 'full' }), ended: { type: 'not full' } },
  watch: { began: (cause) => ({ type: 'watch refused', cause }), ended: { type: 'watch accepted' } },
};

export class Refusals {
  readonly #present = new Map<RefusalKind, unknown>();
  readonly #report: (event: EtcdEvent) => void;

  constructor(report: (event: EtcdEvent) => void) {
    this.#report = report;
  }

  get full(): boolean {
    return this.#present.has('full');
  }

  begin(what: RefusalKind, cause: unknown): void {
    const begins = !this.#present.has(what);
    this.#present.set(what, cause);
    if (begins) this.#report(events[what].began(cause));
  }

  end(what: RefusalKind): void {
    if (this.#present.delete(what)) this.#report(events[what].ended);
  }

  /** Throws the cause of the oldest refusal. */
  check(): void {
    for (const cause of this.#present.values()) throw cause;
  }
}
