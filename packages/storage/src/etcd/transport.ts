import type { TraceContext } from '@cluster-apiserver/base';

/** Sends messages to one member of etcd. It is an argument everywhere, so that tests can replace it. */
export interface Transport {
  /** Sends one request. Rejects with an EtcdFault, at the latest after the timeout. */
  unary(path: string, request: Uint8Array, options: UnaryOptions): Promise<Buffer>;
  /** Opens a bidirectional stream. It never throws: a fault ends the messages of the stream. */
  openStream(path: string): MemberStream;
  /**
   * The number of the connection that a call in this event-loop iteration uses. Opens a connection if there is none, and
   * throws an EtcdFault if that fails.
   */
  readonly connectionNumber: number;
  close(): void;
}

/** Creates a transport. It connects when it is first used, and reconnects after a lost connection. */
export type Connect = (endpoint: string) => Transport;

export interface UnaryOptions {
  readonly timeoutMs: number;
  /** Receives a response that arrives after the timeout. */
  readonly late?: LateResponseListener | undefined;
  /** The member refuses the call while it has no leader, instead of waiting. False only for its own status. */
  readonly requireLeader: boolean;
  /** The span that the call is made for, if it is sampled. */
  readonly trace?: TraceContext | undefined;
}

export interface LateResponseListener {
  /** How long after the timeout the response is awaited. */
  readonly withinMs: number;
  onResponse(message: Buffer): void;
}

export interface MemberStream {
  send(message: Uint8Array): void;
  /** The received messages. Ends when either side closes the stream; throws an EtcdFault if it was lost or refused. */
  readonly messages: AsyncIterable<Buffer>;
  close(): void;
}

/**
 * Why a request has no successful response:
 * - `unsent`: it was never sent, so it has no effect;
 * - `lost`: it was sent and got no response, so it may have been applied, now or later;
 * - `refused`: the member responded with an error.
 */
export type FaultKind = 'unsent' | 'lost' | 'refused';

export class EtcdFault extends Error {
  override readonly name = 'EtcdFault';
  readonly kind: FaultKind;
  /** The gRPC status code of a refusal; 14 (unavailable) without a response. */
  readonly code: number;
  constructor(kind: FaultKind, code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.code = code;
  }
}
