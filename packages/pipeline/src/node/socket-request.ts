import type { Readable } from 'node:stream';
import { type Clock, invariant } from '@cluster-apiserver/base';
import {
  type ApiRequest,
  type ApiResponse,
  BodyTooLargeError,
  BodyTooSlowError,
  ClientGoneError,
  type ExchangeEnd,
  type Streaming,
} from '../exchange.ts';
import { answerStallMs, bodyBytesPerSecondMin, bodyGraceMs } from './limits.ts';
import { type Outlet, OutletSink, writePieces } from './outlet.ts';
import { type Receiving, readBody } from './read-body.ts';

/** What all requests of a listener share. */
export interface Surroundings {
  /** The time of the last sweep: exact enough for limits of seconds, and free to read on the hot path. */
  readonly nowMs: number;
  readonly clock: Clock;
  /** Aborted once the listener drains. */
  readonly draining: AbortSignal;
  /** What went wrong on our side after the answer had begun. */
  report(what: string, error: unknown): void;
}

const nothing = Buffer.alloc(0);

/**
 * One request from a socket until its answer has left. It keeps references to Node's objects and looks only at what it
 * is asked for: no URL is parsed, no header copied, no timer set and no signal made for a request that needs none.
 */
export abstract class SocketRequest implements ApiRequest {
  abstract readonly method: string;
  abstract readonly target: string;
  abstract readonly remoteAddress: string;
  abstract readonly clientCertificates: readonly Buffer[];
  abstract readonly protocol: ApiRequest['protocol'];
  /** Names and values in turn, as Node's parsers give them. */
  abstract readonly rawHeaders: readonly string[];

  protected readonly surroundings: Surroundings;
  #receiving: Receiving | undefined;
  #gone: AbortController | undefined;
  #clientLeft = false;
  #closed = false;
  #sendingSinceMs: number | undefined;
  #onEnd: ((end: ExchangeEnd) => void)[] | undefined;
  /** Counted by whoever writes the body. */
  protected bodyBytes = 0;

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
  }

  header(name: string): string | undefined {
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2)
      if (isNamed(raw[i] as string, name)) return this.textOf(raw[i + 1] as string);
    return undefined;
  }

  headerLines(name: string): readonly string[] {
    const lines: string[] = [];
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2)
      if (isNamed(raw[i] as string, name)) lines.push(this.textOf(raw[i + 1] as string));
    return lines;
  }

  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[] {
    const found: [string, string][] = [];
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string;
      // Nearly every header differs in its first letter, and then costs nothing more.
      if ((name.charCodeAt(0) | 0x20) !== prefix.charCodeAt(0)) continue;
      const lower = name.toLowerCase();
      if (lower.startsWith(prefix)) found.push([lower, this.textOf(raw[i + 1] as string)]);
    }
    return found;
  }

  get webSocket(): boolean {
    return false;
  }

  body(limitBytes: number): Promise<Buffer> {
    invariant(!this.#receiving, 'a body is read once, and its bytes would be missing the second time');
    if (!this.hasBody) return Promise.resolve(nothing);
    if (this.#closed) return Promise.reject(new ClientGoneError('the client left before its request was read'));
    const declared = this.header('content-length');
    if (declared !== undefined && Number(declared) > limitBytes)
      return Promise.reject(new BodyTooLargeError(limitBytes));
    this.askForBody();
    const { body, receiving } = readBody(this.source, () => this.bodyIsWhole, limitBytes, this.surroundings.nowMs);
    this.#receiving = receiving;
    return body;
  }

  get signal(): AbortSignal {
    if (!this.#gone) {
      this.#gone = new AbortController();
      if (this.#closed || this.#clientLeft) this.#gone.abort(new ClientGoneError('the client left'));
    }
    return this.#gone.signal;
  }

  /** Sends the answer. Nothing here throws or rejects: whoever called has no way left to tell the client. */
  abstract answer(response: ApiResponse): void;

  /** What the sweep ends this request for, if anything. */
  sweep(nowMs: number): void {
    const receiving = this.#receiving;
    if (receiving && this.receivingBody && tooSlow(receiving, nowMs)) {
      receiving.fail(new BodyTooSlowError(`fewer than ${bodyBytesPerSecondMin} bytes of the body came per second`));
    }
    if (this.#sendingSinceMs !== undefined && nowMs - this.#sendingSinceMs > answerStallMs) this.cutOff();
  }

  /** The socket or stream is done with this request, answered or not. */
  closed(answered: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!answered) this.clientLeft();
    this.#reportEnd(answered);
  }

  onEnd(listener: (end: ExchangeEnd) => void): void {
    (this.#onEnd ??= []).push(listener);
  }

  #reportEnd(answered: boolean): void {
    if (!this.#onEnd) return;
    const end: ExchangeEnd = { outcome: answered ? 'complete' : 'aborted', bodyBytes: this.bodyBytes };
    for (const listener of this.#onEnd) listener(end);
  }

  clientLeft(): void {
    this.#clientLeft = true;
    this.#gone?.abort(new ClientGoneError('the client left'));
  }

  /** The value of a header as the client meant it, which is UTF-8 if it is more than ASCII. */
  protected abstract textOf(value: string): string;

  protected get bodyWasAskedFor(): boolean {
    return this.#receiving !== undefined;
  }

  protected abstract readonly hasBody: boolean;
  protected abstract readonly receivingBody: boolean;
  protected abstract readonly bodyIsWhole: boolean;
  protected abstract readonly source: Readable;
  /** Tells a client that waits for it (`Expect: 100-continue`) to send the body. */
  protected abstract askForBody(): void;
  /** Ends the connection or stream without a word, so that the client cannot take a part for the whole. */
  protected abstract cutOff(): void;

  /** From here on the answer must keep moving. */
  protected sending(): void {
    this.#sendingSinceMs = this.surroundings.nowMs;
  }

  /** The body of an answer whose headers have been written. */
  protected async send(outlet: Outlet, body: Exclude<ApiResponse['body'], undefined>): Promise<void> {
    try {
      if (isStreaming(body)) {
        const sink = new OutletSink(outlet, this.signal, this.surroundings.draining);
        await body.stream(sink);
        this.bodyBytes += sink.writtenBytes;
      } else
        await writePieces(outlet, body, (bytes) => {
          this.bodyBytes += bytes;
          this.sending();
        });
    } catch (error) {
      if (!this.#closed) this.surroundings.report(`writing the answer to ${this.method} ${pathOf(this.target)}`, error);
      this.cutOff();
    }
  }
}

export const isStreaming = (body: ApiResponse['body']): body is Streaming =>
  typeof body === 'object' && 'stream' in body;

/** A query may hold what nobody should read in a log. */
export function pathOf(target: string): string {
  const end = target.indexOf('?');
  return end < 0 ? target : target.slice(0, end);
}

function isNamed(raw: string, name: string): boolean {
  return raw.length === name.length && (raw === name || raw.toLowerCase() === name);
}

function tooSlow(receiving: Receiving, nowMs: number): boolean {
  const lateMs = nowMs - receiving.sinceMs - bodyGraceMs;
  return lateMs > 0 && receiving.bytes < (lateMs / 1000) * bodyBytesPerSecondMin;
}
