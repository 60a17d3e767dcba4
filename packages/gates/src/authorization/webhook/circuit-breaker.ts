import { BoundedCache, bytesOfText, type Clock, keepText } from '@cluster-apiserver/base';

/**
 * Keeps requests from piling up at a webhook that does not respond. Each waiting request occupies one of the in-flight seats,
 * so a hanging webhook would soon block all requests, even those that it does not decide.
 *
 * - Requests beyond `waitingMax` fail at once. This bounds memory; a working webhook never reaches it.
 * - If `waitingInSilenceMax` requests wait and the webhook has not responded for `silenceMs`, further requests fail at once:
 *   the first timeout would come too late.
 * - After `failuresMax` consecutive failed attempts one request per `pauseMs` is sent, and the others fail at once. The first
 *   response closes the circuit. The failure policy decides failed requests; cached decisions stay valid.
 *
 * A user can have requests that a webhook cannot answer. They count for that user alone, unless several users fail: with
 * `NoOpinion` one user could switch the webhook off for all otherwise.
 */
const waitingMax = 5_000;
const waitingInSilenceMax = 50;
const silenceMs = 3_000;
const failuresMax = 5;
const pauseMs = 1_000;
/** From this number of users on, their failures are those of the webhook. */
const usersMin = 5;

/** Users whose last attempt failed. */
const failingUsers = { entriesMax: 1_000, bytesMax: 1024 * 1024, bytesOf: bytesOfText } as const;

interface Circuit {
  /** Failed attempts since the last response. */
  failures: number;
  nextTrialMs: number;
}

export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #ofAll: Circuit = { failures: 0, nextTrialMs: 0 };
  readonly #ofUsers = new BoundedCache<Circuit>(failingUsers);
  /** The first users with failed attempts since the last response. */
  readonly #failedUsers = new Set<string>();
  #waiting = 0;
  readonly #waitingOfUsers = new Map<string, number>();
  /** When the webhook last responded, or when the oldest waiting request was sent. */
  #lastSignMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a request may be sent. Call `release` after it. */
  acquire(user: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#waiting >= waitingMax) return false;
    if (this.#waiting === 0) this.#lastSignMs = nowMs;
    const ofUser = this.#ofUsers.get(user);
    if (this.#isSilentFor(user, nowMs) || (isOpen(this.#ofAll) && this.#failedUsers.size >= usersMin)) {
      if (!isTrialDue(this.#ofAll, nowMs)) return false;
    } else if (ofUser && isOpen(ofUser) && !isTrialDue(ofUser, nowMs)) return false;
    this.#waiting++;
    this.#waitingOfUsers.set(user, (this.#waitingOfUsers.get(user) ?? 0) + 1);
    return true;
  }

  release(user: string): void {
    this.#waiting--;
    const left = (this.#waitingOfUsers.get(user) ?? 0) - 1;
    if (left > 0) this.#waitingOfUsers.set(user, left);
    else this.#waitingOfUsers.delete(user);
  }

  recordResponse(user: string): void {
    this.#lastSignMs = this.#clock.monotonicMs();
    this.#ofAll.failures = 0;
    this.#failedUsers.clear();
    this.#ofUsers.delete(user);
  }

  recordFailure(user: string): void {
    const nowMs = this.#clock.monotonicMs();
    const kept = keepText(user);
    const ofUser = this.#ofUsers.get(kept) ?? { failures: 0, nextTrialMs: 0 };
    this.#ofUsers.set(kept, ofUser);
    const isNewUser = this.#failedUsers.size < usersMin && !this.#failedUsers.has(kept);
    if (isNewUser) this.#failedUsers.add(kept);
    countFailure(ofUser, nowMs);
    countFailure(this.#ofAll, nowMs);
    // The circuit of all opens with the last of these users.
    if (isNewUser && this.#failedUsers.size === usersMin) this.#ofAll.nextTrialMs = nowMs + pauseMs;
  }

  #isSilentFor(user: string, nowMs: number): boolean {
    if (this.#waiting < waitingInSilenceMax || nowMs - this.#lastSignMs < silenceMs) return false;
    return this.#waitingOfUsers.size >= usersMin || (this.#waitingOfUsers.get(user) ?? 0) >= waitingInSilenceMax;
  }
}

const isOpen = ({ failures }: Circuit): boolean => failures >= failuresMax;

/** One request per pause. */
function isTrialDue(circuit: Circuit, nowMs: number): boolean {
  if (nowMs < circuit.nextTrialMs) return false;
  circuit.nextTrialMs = nowMs + pauseMs;
  return true;
}

function countFailure(circuit: Circuit, nowMs: number): void {
  circuit.failures++;
  if (circuit.failures === failuresMax) circuit.nextTrialMs = nowMs + pauseMs;
}
