// Failures that a machine which stalls for seconds can cause. `npm test` repeats a file that failed by these alone, and
// knows them by name (packages/toolchain/test-plan.mjs). Everything else, such as a verdict on a history, is final.

/** Something did not happen in time. */
export class DeadlineError extends Error {
  static {
    // On the prototype, because a stack trace begins with the name at the construction.
    this.prototype.name = 'DeadlineError';
  }
}

/** A process of the test did not start. */
export class StartError extends Error {
  static {
    this.prototype.name = 'StartError';
  }
}
