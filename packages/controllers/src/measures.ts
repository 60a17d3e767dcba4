/** The metrics of a queue. */
export interface QueueMeasures {
  /** How many keys wait for a worker, whenever that has changed. */
  queued(keys: number): void;
  /** A key was added that did not wait already. */
  added(): void;
  /** A worker has begun with a key that waited so long. The returned function is called when the work has ended. */
  began(waitedSeconds: number): () => void;
}

/** The metrics of a controller. */
export interface ControllerMeasures extends QueueMeasures {
  /** A worker failed and tries again after a pause. */
  retried(): void;
  /** How many stored objects the controller cannot read; whatever may depend on them waits. */
  unreadable(objects: number): void;
}
