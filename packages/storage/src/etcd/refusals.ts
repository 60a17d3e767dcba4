/** What etcd refuses although it responds. Reports when a refusal begins and when it ends. */
import type { EtcdEvent } from './etcd-event.ts';
import type { Call } from '../store.ts';

type RefusalKind = 'full' | 'watch' | 'access';

const events: Readonly<Record<RefusalKind, { began: (cause: unknown) => EtcdEvent; ended: EtcdEvent }>> = {
  full: { began: () => ({ type: 'full' }), ended: { type: 'not full' } },
  access: { began: (cause) => ({ type: 'access refused', cause }), ended: { type: 'access granted' } },
  watch: { began: (cause) => ({ type: 'watch refused', cause }), ended: { type: 'watch accepted' } },
};

export class Refusals {
  readonly #present = new Map<RefusalKind, unknown>();
  readonly #report: (event: EtcdEvent) => void;
  /** Tries without effect what was denied last. */
  #tryDenied: ((call: Call) => Promise<unknown>) | undefined;

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

  /** The server's user lacks a right. Only the same request can show that it is granted. */
  beginDenied(cause: unknown, tryDenied: (call: Call) => Promise<unknown>): void {
    this.#tryDenied = tryDenied;
    this.begin('access', cause);
  }

  /** Ends the refusal if access is granted now; throws the error of etcd if not. */
  async recheckDenied(call: Call): Promise<void> {
    const tryDenied = this.#tryDenied;
    if (!tryDenied) return;
    await tryDenied(call);
    if (this.#tryDenied !== tryDenied) return;
    this.#tryDenied = undefined;
    this.end('access');
  }

  /** Throws the cause of the oldest refusal. */
  check(): void {
    for (const cause of this.#present.values()) throw cause;
  }
}
