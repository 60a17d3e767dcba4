import type { Clock } from '@cluster-apiserver/base';
import { encodeGrpcMessage, MessageReader, streamedMessageBytesMax } from './grpc-frames.ts';
import { connectionLost, httpProblemOf, refusalOf, unavailableCode, unknownCode } from './grpc-status.ts';
import type { Connection } from './http2/connection.ts';
import type { Stream, StreamListener } from './http2/stream.ts';
import { setStallAwareTimer } from './stall-aware-timer.ts';
import { EtcdFault, type FaultKind, type MemberStream } from './transport.ts';

/** With more messages than this in the buffer, flow control holds the member back. */
const bufferedMessagesMax = 16;

/** The same in bytes: a message of a watch holds the events of many revisions, each with the object before and after it. */
const bufferedBytesMax = 1024 * 1024;

/** A stream of messages in both directions. */
export class BidiStream implements MemberStream, StreamListener {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #connection: Connection;
  readonly #responseMs: number;
  readonly #stream: Stream;
  readonly #reader = new MessageReader(streamedMessageBytesMax);
  readonly #buffered: Buffer[] = [];
  #bufferedBytes = 0;
  #ended = false;
  #fault: EtcdFault | undefined;
  #wake = (): void => {};
  readonly messages: AsyncIterable<Buffer> = this.#read();

  /** Cancels the check of the connection that follows a message without a response. */
  #cancelCheck: (() => void) | undefined;

  /** A message is usually answered within `responseMs`. Otherwise the connection is checked. */
  constructor(
    endpoint: string,
    clock: Clock,
    connection: Connection,
    { headers, responseMs }: { readonly headers: Buffer; readonly responseMs: number },
  ) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#connection = connection;
    this.#responseMs = responseMs;
    this.#stream = connection.open(headers, this);
  }

  send(message: Uint8Array): void {
    if (this.#ended) return;
    this.#stream.send(encodeGrpcMessage(message), false);
    // Nothing else on a connection that only has watches would be missed before the next regular ping.
    this.#cancelCheck ??= setStallAwareTimer(this.#clock, this.#responseMs, () => {
      this.#cancelCheck = undefined;
      this.#connection.checkAlive();
    });
  }

  close(): void {
    this.#end();
    this.#stream.cancel();
  }

  onHeaders(headers: ReadonlyMap<string, string>): void {
    const fault = httpProblemOf(headers);
    if (headers.has('grpc-status')) this.#end(refusalOf(headers));
    else if (fault) this.#fail('lost', unavailableCode, fault);
  }

  onData(piece: Buffer): void {
    this.#stopCheck();
    try {
      for (const message of this.#reader.push(piece)) {
        this.#buffered.push(message);
        this.#bufferedBytes += message.length;
      }
    } catch (cause) {
      this.#fail('lost', unknownCode, 'sent an unreadable message', { cause });
    }
    if (this.#buffered.length > bufferedMessagesMax || this.#bufferedBytes > bufferedBytesMax) this.#stream.pause();
    this.#wake();
  }

  onEnd(): void {
    this.#fail('lost', unknownCode, 'ended a stream without a status');
  }

  onLost(kind: 'unsent' | 'lost', cause?: Error): void {
    this.#fail(kind, unavailableCode, connectionLost, { cause });
  }

  async *#read(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        for (let message = this.#buffered.shift(); message; message = this.#buffered.shift()) {
          this.#bufferedBytes -= message.length;
          if (this.#buffered.length === 0) this.#stream.resume();
          yield message;
        }
        if (this.#fault) throw this.#fault;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.close();
    }
  }

  #fail(kind: FaultKind, code: number, why: string, options?: ErrorOptions): void {
    this.#end(new EtcdFault(kind, code, `${this.#endpoint} ${why}`, options));
    this.#stream.cancel();
  }

  #stopCheck(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
  }

  /** Messages that are buffered are still delivered. */
  #end(fault?: EtcdFault): void {
    if (this.#ended) return;
    this.#stopCheck();
    this.#ended = true;
    this.#fault = fault;
    this.#wake();
  }
}

/** A stream that could not be opened: its messages end with the fault. */
export function failedStream(fault: unknown): MemberStream {
  const messages: AsyncIterable<Buffer> = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(fault) }) };
  return { send: () => {}, messages, close: () => {} };
}
