/** The label values of the metric. */
export const callbackPlaces = ['connection', 'request', 'response', 'websocket', 'timer'] as const;
export type CallbackPlace = (typeof callbackPlaces)[number];

/** The metrics of a listener. */
export interface ListenerMeasures {
  /** An exception in a callback closed a connection or stream. */
  countFailedCallback(where: CallbackPlace): void;
  countRefusedConnection(reason: RefusedConnection): void;
  countFailedHandshake(): void;
  countCutOffResponse(reason: CutOffResponse): void;
  /** A request body was refused. */
  countRefusedBody(reason: RefusedBody): void;
  /** Called once per sweep. */
  setSizes(sizes: ListenerSizes): void;
}

export interface ListenerSizes {
  readonly connections: number;
  /** Bytes of responses in memory. */
  readonly responseBytes: number;
  /** Bytes of requests in memory. */
  readonly bodyBytes: number;
}

/** The process or the peer reached its limit, or the system has no free file descriptor. */
export const refusedConnections = ['limit', 'peer', 'descriptors'] as const;
export type RefusedConnection = (typeof refusedConnections)[number];

/** The client stopped reading, or did so while memory for responses was exhausted. */
export const cutOffResponses = ['stalled', 'memory'] as const;
export type CutOffResponse = (typeof cutOffResponses)[number];

/** The body arrived too slowly, or memory for bodies was exhausted. */
export const refusedBodies = ['slow', 'memory'] as const;
export type RefusedBody = (typeof refusedBodies)[number];
