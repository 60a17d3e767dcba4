/** Sends keepalive pings, no more often than etcd allows, and reports when one is not acknowledged. */
import type { Clock } from '@cluster-apiserver/base';
import { setStallAwareTimer } from '../stall-aware-timer.ts';

/** etcd closes the connection after more than two pings within 5 s of each other without data in between. */
const pingIntervalMs = 5_500;

/** This many pings may be earlier, until the peer has sent something (gRPC's `too_many_pings`). */
const earlyPingsMax = 2;

export interface KeepaliveOptions {
  readonly clock: Clock;
  /** How long an acknowledgement may take. The network layer sends it, however busy the database is. */
  readonly timeoutMs: number;
  readonly send: () => void;
  /** Whether a response is awaited. etcd does not allow pings on an idle connection. */
  readonly isInUse: () => boolean;
  /** There was no acknowledgement. The reason is a phrase about the peer. */
  readonly onTimeout: (why: string) => void;
}

export class Keepalive {
  readonly #options: KeepaliveOptions;
  #cancelTimer = (): void => {};
  #cancelTimeout: (() => void) | undefined;
  #sentMs = Number.NEGATIVE_INFINITY;
  /** Early pings since the peer last sent data for a stream. */
  #earlyPings = 0;

  constructor(options: KeepaliveOptions) {
    this.#options = options;
  }

  /** Sends pings periodically from now on. */
  start(): void {
    this.#cancelTimer = this.#options.clock.after(pingIntervalMs, () => {
      if (this.#options.isInUse()) this.pingNow();
      this.start();
    });
  }

  /** A response is overdue: sends a ping at once, if the peer allows one more. */
  pingNow(): void {
    const { clock, timeoutMs, send, isInUse, onTimeout } = this.#options;
    if (this.#cancelTimeout) return;
    const nowMs = clock.monotonicMs();
    const isEarly = nowMs - this.#sentMs < pingIntervalMs || !isInUse();
    if (isEarly && this.#earlyPings >= earlyPingsMax) return;
    if (isEarly) this.#earlyPings++;
    this.#sentMs = nowMs;
    this.#cancelTimeout = setStallAwareTimer(clock, timeoutMs, () =>
      onTimeout(`acknowledged no ping within ${Math.round(timeoutMs)} ms`),
    );
    send();
  }

  noteAck(): void {
    this.#cancelTimeout?.();
    this.#cancelTimeout = undefined;
  }

  /** The peer has sent data for a stream. */
  noteActivity(): void {
    this.#earlyPings = 0;
  }

  stop(): void {
    this.#cancelTimer();
    this.#cancelTimeout?.();
  }
}
