import type { CallbackPlace } from './callback-guard.ts';

/** What a listener counts. */
export interface ListenerMeasures {
  /** An exception in a callback of Node's cost a connection or a stream. */
  callbackFailed(where: CallbackPlace): void;
  connectionRefused(reason: RefusedConnection): void;
  /** A TLS handshake failed. */
  handshakeFailed(): void;
  responseCutOff(reason: CutOffResponse): void;
  /** A request body was given up. */
  bodyRefused(reason: RefusedBody): void;
  /** Taken once per sweep. */
  sizes(sizes: ListenerSizes): void;
}

export interface ListenerSizes {
  readonly connections: number;
  /** Response bytes that wait in memory for their clients. */
  readonly responseBytes: number;
  /** Bytes of request bodies in memory. */
  readonly bodyBytes: number;
}

/** The process has as many as it takes, the peer has, or the system has no descriptor left. */
export const refusedConnections = ['limit', 'peer', 'descriptors'] as const;
export type RefusedConnection = (typeof refusedConnections)[number];

/** The client stopped reading, or did so while memory for responses was exhausted. */
export const cutOffResponses = ['stalled', 'memory'] as const;
export type CutOffResponse = (typeof cutOffResponses)[number];

/** The body came too slowly, or memory for bodies was exhausted. */
export const refusedBodies = ['slow', 'memory'] as const;
export type RefusedBody = (typeof refusedBodies)[number];

/** For a listener whose numbers nobody reads. */
export const noListenerMeasures: ListenerMeasures = {
  callbackFailed: () => {},
  connectionRefused: () => {},
  handshakeFailed: () => {},
  responseCutOff: () => {},
  bodyRefused: () => {},
  sizes: () => {},
};
