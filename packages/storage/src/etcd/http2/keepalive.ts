/** Asks the other side for a sign of life, as often as etcd wants it, and says when none came. */
import type { Clock } from '@cluster-apiserver/base';
import { setStallAwareTimer } from '../stall-aware-timer.ts';

/** etcd takes more than two pings within 5 s of each other, with nothing sent in between, for an attack. */
const pingIntervalMs = 5_500;

/** So many pings may come sooner, until the other side has sent something (gRPC's `too_many_pings`). */
const earlyPingsMax = 2;

export interface KeepaliveOptions {
  readonly clock: Clock;
  /** How long an answer may take: it comes from the member's network layer, however busy its database is. */
  readonly timeoutMs: number;
  readonly send: () => void;
  /** Whether somebody waits for an answer; etcd objects to pings on an idle connection. */
  readonly isInUse: () => boolean;
  /** No answer came; why, as a sentence about the other side. */
  readonly onTimeout: (why: string) => void;
}

export class Keepalive {
  readonly #options: KeepaliveOptions;
  #cancelTimer = (): void => {};
  #cancelTimeout: (() => void) | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  /** Pings that came too soon after the one before, since the other side sent anything for a stream. */
  #early = 0;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
  }

  /** From now on the other side is asked now and then. */
  start(): void {
    this.#cancelTimer = this.#options.clock.after(pingIntervalMs, () => {
      if (this.#options.isInUse()) this.pingNow();
      this.start();
    });
  }

  /** An answer is overdue: asks at once, if the other side will not take one more ping for an attack. */
  pingNow(): void {
    const { clock, timeoutMs, send, isInUse, onTimeout: unanswered } = this.#options;
    if (this.#cancelTimeout) return;
    const nowMs = clock.monotonicMs();
    const isEarly = nowMs - this.#sentMs < pingIntervalMs || !isInUse();
    if (isEarly && this.#early >= earlyPingsMax) return;
    if (isEarly) this.#early++;
    this.#sentMs = nowMs;
    this.#cancelTimeout = setStallAwareTimer(clock, timeoutMs, () =>
      unanswered(`answered no ping within ${timeoutMs} ms`),
    );
    send();
  }

  noteAck(): void {
    this.#cancelTimeout?.();
    this.#cancelTimeout = undefined;
  }

  /** The other side has sent something for a stream. */
  noteActivity(): void {
    this.#early = 0;
  }

  stop(): void {
    this.#cancelTimer();
    this.#cancelTimeout?.();
  }
}
