import { StatusError } from '@cluster-apiserver/model';
import { type Revision, RevisionCompactedError } from '@cluster-apiserver/storage';
import type { Channel } from './channels.ts';
import type { Resource } from './resource.ts';
import { answerFor } from './storage-answers.ts';
import { Batch, batchBytesMax, type ObjectEvent } from './watch-event.ts';

/** Nobody keeps a place longer than this while others wait: in a quiet namespace etcd may have nothing to tell for minutes. */
const placeMaxMs = 30_000;

/** A reader that takes nothing for this long gives its place to another one, and reads again from where it was. */
const idleMs = 5_000;

/**
 * The changes that memory no longer has, as etcd tells them. It reads ahead one batch at most, and only while it has one
 * of the few places for readers of history.
 */
export class History {
  readonly #resource: Resource;
  readonly #channel: Channel;
  /** Everything up to here has been taken. */
  #taken: Revision;
  /** Read, and not taken yet. */
  #events: ObjectEvent[] = [];
  #bytes = 0;
  #readTo: Revision | undefined;
  #error: { readonly cause: unknown } | undefined;
  /** Gives the place back, or the wait for one; undefined while there is neither. */
  #leave: (() => void) | undefined;
  #abort = new AbortController();
  /** Continues to read when a full batch has been taken. */
  #continue = (): void => {};
  #cancelIdle: (() => void) | undefined;
  #cancelPlace: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(resource: Resource, channel: Channel, after: Revision) {
    this.#resource = resource;
    this.#channel = channel;
    this.#taken = after;
  }

  /** The next events, or none of a few revisions; undefined when there is nothing now. Throws what ends the watch. */
  take(): Batch | undefined {
    if (this.#readTo === undefined) {
      if (!this.#error && !this.#leave) this.#enter();
      if (this.#error) throw this.#error.cause;
      return undefined;
    }
    const batch = new Batch(this.#events, this.#readTo, this.#bytes);
    this.#taken = this.#readTo;
    this.#forgetRead();
    this.#continue();
    return batch;
  }

  wait(wake: () => void): void {
    this.#wake = wake;
  }

  close(): void {
    this.#stop();
    if (this.#wake) this.#resource.channels.turns.leave(this.#wake);
    this.#wake = undefined;
  }

  #enter(): void {
    const { historyLimit, clock } = this.#resource.channels;
    const begin = (): void => {
      this.#cancelPlace = clock.after(placeMaxMs, () => {
        this.#stop();
        this.#notify();
      });
      this.#abort = new AbortController();
      void this.#read(this.#abort.signal);
    };
    // Nothing is read in this turn, so it is not left before it has been entered.
    this.#leave = historyLimit.enter(begin, () => this.#fail(this.#expired()));
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { collection } = this.#resource;
    const { namespace } = this.#channel.selection;
    const within = namespace === undefined ? '' : `${namespace}/`;
    try {
      for await (const { revision, changes } of collection.replay(within, this.#taken, signal)) {
        if (signal.aborted) return;
        for (const change of changes) {
          const event = this.#channel.eventOf(change);
          if (event) this.#events.push(event);
          this.#bytes += event?.bytes ?? 0;
        }
        this.#readTo = revision;
        this.#cancelIdle ??= this.#resource.channels.clock.after(idleMs, () => this.#stop());
        this.#notify();
        if (this.#bytes >= batchBytesMax) await new Promise<void>((taken) => (this.#continue = taken));
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!signal.aborted)
        this.#fail(error instanceof RevisionCompactedError ? this.#expired(error) : answerFor(error, 'collection'));
    }
  }

  /** It begins again, behind what was taken, when somebody takes more. */
  #stop(): void {
    this.#forgetRead();
    this.#abort.abort();
    this.#continue();
    this.#leavePlace();
    this.#leave = undefined;
  }

  #leavePlace(): void {
    this.#cancelPlace?.();
    this.#leave?.();
  }

  #forgetRead(): void {
    this.#events = [];
    this.#bytes = 0;
    this.#readTo = undefined;
    this.#cancelIdle?.();
    this.#cancelIdle = undefined;
  }

  #fail(cause: unknown): void {
    this.#error = { cause };
    this.#leavePlace();
    this.#notify();
  }

  #notify(): void {
    if (this.#wake) this.#resource.channels.turns.wait(this.#wake);
  }

  #expired(cause?: RevisionCompactedError): StatusError {
    return new StatusError('Expired', `too old resource version: ${this.#taken}`, undefined, { cause });
  }
}
