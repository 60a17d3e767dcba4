/** What a controller counts. */
export interface ControllerMeasures {
  /** How many objects wait for a worker, whenever that has changed. */
  queued(objects: number): void;
  /** A worker failed and tries again after a pause. */
  retried(): void;
  /** How many stored objects the controller cannot read; whatever may depend on them waits. */
  unreadable(objects: number): void;
}
