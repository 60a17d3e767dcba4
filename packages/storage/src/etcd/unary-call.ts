import type { Clock } from '@cluster-apiserver/base';
import { encodeGrpcMessage, MessageReader, responseBytesMax } from './grpc-frames.ts';
import { connectionLost, httpProblemOf, refusalOf, unavailableCode, unknownCode } from './grpc-status.ts';
import type { Connection } from './http2/connection.ts';
import type { StreamListener } from './http2/stream.ts';
import { setStallAwareTimer } from './stall-aware-timer.ts';
import { EtcdFault, type FaultKind, type LateResponseListener } from './transport.ts';

/** One request and one response. The gRPC status may arrive in headers or in trailers. */
export class UnaryCall implements StreamListener {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #resolve: (message: Buffer) => void;
  readonly #reject: (fault: EtcdFault) => void;
  readonly #reader = new MessageReader(responseBytesMax);
  #message: Buffer | undefined;
  #settled = false;
  #cancelTimer = (): void => {};
  #cancelStream = (): void => {};
  readonly #late: LateResponseListener | undefined;
  #isTimedOut = false;

  constructor(
    endpoint: string,
    clock: Clock,
    resolve: (message: Buffer) => void,
    reject: (fault: EtcdFault) => void,
    late: LateResponseListener | undefined,
  ) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#late = late;
  }

  send(connection: Connection, headers: Buffer, request: Uint8Array, timeoutMs: number): void {
    const stream = connection.open(headers, this);
    stream.send(encodeGrpcMessage(request), true);
    this.#cancelStream = () => stream.cancel();
    this.#cancelTimer = setStallAwareTimer(this.#clock, timeoutMs, () => {
      this.#timeOut(stream.isSent, timeoutMs);
      connection.checkAlive();
    });
  }

  #timeOut(isSent: boolean, timeoutMs: number): void {
    const why = `sent no response within ${Math.round(timeoutMs)} ms`;
    if (!isSent || !this.#late) return this.#fail(isSent ? 'lost' : 'unsent', unavailableCode, why);
    this.#settle(new EtcdFault('lost', unavailableCode, `${this.#endpoint} ${why}`));
    this.#isTimedOut = true;
    this.#cancelTimer = this.#clock.after(this.#late.withinMs, () => this.#stopListening());
  }

  #stopListening(): void {
    this.#isTimedOut = false;
    this.#cancelTimer();
    this.#cancelStream();
  }

  onHeaders(headers: ReadonlyMap<string, string>): void {
    if (headers.has('grpc-status')) {
      const refusal = refusalOf(headers);
      if (this.#isTimedOut) {
        if (!refusal && this.#message) this.#late?.onResponse(this.#message);
        this.#stopListening();
        return;
      }
      const outcome = refusal ?? this.#message;
      if (outcome) this.#settle(outcome);
      else this.#fail('lost', unknownCode, 'responded without a message');
      return;
    }
    const fault = httpProblemOf(headers);
    if (fault) this.#fail('lost', unavailableCode, fault);
  }

  onData(piece: Buffer): void {
    try {
      const [message] = this.#reader.push(piece);
      this.#message ??= message;
    } catch (cause) {
      this.#fail('lost', unknownCode, 'sent an invalid response', { cause });
    }
  }

  onEnd(): void {
    this.#fail('lost', unknownCode, 'responded without a status');
  }

  onLost(kind: 'unsent' | 'lost', cause?: Error): void {
    this.#fail(kind, unavailableCode, connectionLost, { cause });
  }

  #fail(kind: FaultKind, code: number, why: string, options?: ErrorOptions): void {
    if (this.#isTimedOut) this.#stopListening();
    if (this.#settled) return;
    this.#settle(new EtcdFault(kind, code, `${this.#endpoint} ${why}`, options));
    this.#cancelStream();
  }

  /** Only the first outcome counts. */
  #settle(outcome: EtcdFault | Buffer): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#cancelTimer();
    if (outcome instanceof EtcdFault) this.#reject(outcome);
    else this.#resolve(outcome);
  }
}
