import { settle } from '@cluster-apiserver/base';
import { mastersGroup } from '@cluster-apiserver/gates';
import { type Allocate, type BodySource, isReady } from '../body-source.ts';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext, Seat } from '../request-context.ts';
import { textResponse } from '../responses.ts';
import type { InFlightMeasures, RequestKind } from './in-flight-measures.ts';

/** Maximum number of requests in flight; 0 for no limit. */
export type InFlightLimits = Readonly<Record<RequestKind, number>>;

/**
 * Limits requests in flight, like the filter in kube-apiserver with the same flags. Watches hold no seat. Members of
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
  const kindOf = ({ info }: AuthenticatedContext): RequestKind =>
    readOnlyVerbs.has(info.verb) ? 'readOnly' : 'mutating';
  const reject = (context: AuthenticatedContext): ApiResponse => {
    measures.rejected(kindOf(context), context);
    return textResponse(context.auditId, 429, 'Too many requests, please try again later.\n', { 'retry-after': '1' });
  };
  const failed = (error: unknown, context: SeatedContext): ApiResponse => {
    context.seat.release();
    if (error instanceof NoSeatError) return reject(context);
    throw error;
  };
  return (context) => {
    const { info, user } = context;
    const seats = kindOf(context) === 'readOnly' ? readOnly : mutating;
    if (!seats || info.verb === 'watch') return next(context);
    const isExempt = user.groups.includes(mastersGroup);
    if (!seats.tryAcquire(user.name)) return isExempt ? next(context) : reject(context);
    // Every wait of a request is bounded by its deadline, its client or the timeout for slow bodies, so every seat is
    // released.
    const seated = Object.assign(context, { seat: new HeldSeat(seats, user.name, isExempt) });
    return settle(next, seated, releaseSeat, failed);
  };
}

type SeatedContext = AuthenticatedContext & { readonly seat: HeldSeat };

/** All other verbs count as mutating, as in kube-apiserver. A list also holds a seat while its body is generated. */
const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list']);

/** The response is ready, but a generated body still needs the seat at times. */
function releaseSeat(response: ApiResponse, { seat }: SeatedContext): ApiResponse {
  seat.release();
  const { body } = response;
  if (isReady(body) || body.length !== undefined) return response;
  return { ...response, body: new SeatedBody(body, seat) };
}

/** Generating a piece needs a seat too. It never waits for one, since part of the response has been sent. */
class SeatedBody implements BodySource {
  readonly #source: BodySource;
  readonly #seat: HeldSeat;

  constructor(source: BodySource, seat: HeldSeat) {
    this.#source = source;
    this.#seat = seat;
  }

  /** The seat is free while the client does not read. */
  async next(bytesMax: number, allocate: Allocate): Promise<Buffer | undefined> {
    this.#seat.forceAcquire();
    try {
      return await this.#source.next(bytesMax, allocate);
    } finally {
      this.#seat.release();
    }
  }

  close(): void {
    this.#source.close();
  }
}

/** All seats were taken when the body had arrived. */
class NoSeatError extends Error {
  override readonly name = 'NoSeatError';
}

/** The seat of one request. */
class HeldSeat implements Seat {
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
