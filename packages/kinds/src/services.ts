/** What the kinds ask of the server. */
export interface KindServices {
  /** How long an event is kept after its last write. */
  readonly eventLifetimeSeconds: number;
}
