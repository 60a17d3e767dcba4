import { settle } from '@cluster-apiserver/base';
import { mastersGroup } from '@cluster-apiserver/gates';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import type { InFlightMeasures, RequestKind } from './in-flight-measures.ts';
import { type HeldSeat, kindOfRequest, releaseSeat, tooManyRequests } from './seats.ts';

/** Maximum number of requests in flight; 0 for no limit. */
export type InFlightLimits = Readonly<Record<RequestKind, number>>;

/**
 * Limits requests in flight, like the filter in kube-apiserver without priority and fairness. Watches hold no seat. Members of
 * system:masters are never rejected, so that administrators can always investigate. See
 * docs/decisions/0024-requests.md.
 */
export function limitInFlight(
  limits: InFlightLimits,
  measures: InFlightMeasures,
  next: Handler<AuthenticatedContext>,
): Handler<AuthenticatedContext> {
  const createSeats = (kind: RequestKind): Seats | undefined =>
    limits[kind] > 0 ? new Seats(limits[kind], (used) => measures.used(kind, used)) : undefined;
  const [readOnly, mutating] = [createSeats('readOnly'), createSeats('mutating')];
  const reject = (context: AuthenticatedContext): ApiResponse => {
    measures.rejected(kindOfRequest(context), context);
    return tooManyRequests(context);
  };
  const failed = (error: unknown, context: SeatedContext): ApiResponse => {
    context.seat.release();
    if (error instanceof NoSeatError) return reject(context);
    throw error;
  };
  return (context) => {
    const { info, user } = context;
    const seats = kindOfRequest(context) === 'readOnly' ? readOnly : mutating;
    if (!seats || info.verb === 'watch') return next(context);
    const isExempt = user.groups.includes(mastersGroup);
    if (!seats.tryAcquire(user.name)) return isExempt ? next(context) : reject(context);
    // Every wait of a request is bounded by its deadline, its client or the timeout for slow bodies, so every seat is
    // released.
    const seated = Object.assign(context, { seat: new SimpleSeat(seats, user.name, isExempt) });
    return settle(next, seated, releaseSeat, failed);
  };
}

type SeatedContext = AuthenticatedContext & { readonly seat: HeldSeat };

/** All seats were taken when the body had arrived. */
class NoSeatError extends Error {
  override readonly name = 'NoSeatError';
}

/** The seat of one request. */
class SimpleSeat implements HeldSeat {
  readonly #seats: Seats;
  readonly #user: string;
  readonly #isExempt: boolean;
  #isHeld = true;

  constructor(seats: Seats, user: string, isExempt: boolean) {
    this.#seats = seats;
    this.#user = user;
    this.#isExempt = isExempt;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#seats.release(this.#user);
  }

  reacquire(): void {
    if (this.#isHeld) return;
    this.#isHeld = this.#seats.tryAcquire(this.#user);
    if (!this.#isHeld && !this.#isExempt) throw new NoSeatError();
  }

  /** Acquires a seat even if all are taken. */
  forceAcquire(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#seats.forceAcquire(this.#user);
  }
}

/**
 * The share of all seats that one user may hold as soon as another user requests one, so that no user can starve all
 * others.
 */
const userShare = 0.75;

class Seats {
  readonly #limit: number;
  readonly #userMax: number;
  readonly #changed: (used: number) => void;
  readonly #byUser = new Map<string, number>();
  #used = 0;
  /** A user within the share was rejected: until seats are free again, no user exceeds the share. */
  #contended = false;

  constructor(limit: number, changed: (used: number) => void) {
    this.#limit = limit;
    this.#userMax = Math.ceil(limit * userShare);
    this.#changed = changed;
  }

  tryAcquire(user: string): boolean {
    const withinShare = (this.#byUser.get(user) ?? 0) < this.#userMax;
    if (this.#used >= this.#limit) {
      if (withinShare) this.#contended = true;
      return false;
    }
    if (!withinShare && (this.#contended || this.#byUser.size > 1)) return false;
    this.forceAcquire(user);
    return true;
  }

  forceAcquire(user: string): void {
    this.#byUser.set(user, (this.#byUser.get(user) ?? 0) + 1);
    this.#changed(++this.#used);
  }

  release(user: string): void {
    const left = (this.#byUser.get(user) ?? 1) - 1;
    if (left > 0) this.#byUser.set(user, left);
    else this.#byUser.delete(user);
    if (--this.#used < this.#userMax) this.#contended = false;
    this.#changed(this.#used);
  }
}
