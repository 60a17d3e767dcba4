import type { TraceContext } from '@cluster-apiserver/base';

/**
 * How the client reaches one member of etcd: bytes there, bytes back. It is an argument everywhere, so that a model of
 * etcd under a clock moved by hand can stand behind it.
 */
export interface Transport {
  /** One question, one answer. Rejects with an EtcdFault, at the latest when the time is over. */
  unary(path: string, request: Uint8Array, options: UnaryOptions): Promise<Buffer>;
  /** Opens a stream in both directions. It never throws; what goes wrong ends the stream's messages. */
  openStream(path: string): MemberStream;
  /**
   * The number of the connection that the next call goes over, if it is made in this turn of the event loop; it is
   * opened if need be. Throws an EtcdFault where none can be.
   */
  readonly connectionNumber: number;
  close(): void;
}

/** Opens nothing by itself: a transport connects when it is first used, and again whenever it was cut off. */
export type Connect = (endpoint: string) => Transport;

export interface UnaryOptions {
  readonly timeoutMs: number;
  /** Told when a good answer comes after all. */
  readonly late?: LateResponseListener | undefined;
  /** Refuse instead of wait while the member knows of no leader. Only questions about the member itself say false. */
  readonly requireLeader: boolean;
  /** The span that the call is made for, if it is sampled. */
  readonly trace?: TraceContext | undefined;
}

export interface LateResponseListener {
  /** So long after the time was over it is listened for. */
  readonly withinMs: number;
  onResponse(message: Buffer): void;
}

export interface MemberStream {
  send(message: Uint8Array): void;
  /** The answers in order. Ends when either side closes the stream, throws an EtcdFault when it was lost or refused. */
  readonly messages: AsyncIterable<Buffer>;
  close(): void;
}

/**
 * What became of a request that got no good answer:
 * - `unsent`: it never left us, so nothing can have come of it;
 * - `lost`: it left, and nothing came back: it may have been applied, now or later;
 * - `refused`: the member answered with an error.
 */
export type FaultKind = 'unsent' | 'lost' | 'refused';

export class EtcdFault extends Error {
  override readonly name = 'EtcdFault';
  readonly kind: FaultKind;
  /** The gRPC status code of a refusal; 14 (unavailable) where no answer came. */
  readonly code: number;
  constructor(kind: FaultKind, code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
    this.code = code;
  }
}
