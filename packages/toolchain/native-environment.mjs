/**
 * Jest's environment of tests that share Node's own modules and global object with the other test files of their worker
 * (see native-runtime.mjs).
 */
export default class NativeEnvironment {
  /** Jest puts its console here. */
  global = {};
  #console;

  /** Without a context, Jest's runtime is the native one. */
  getVmContext() {
    return null;
  }

  exportConditions() {
    return [];
  }

  async setup() {
    this.#console = globalThis.console;
    globalThis.console = this.global.console;
    // Jest raises this, and creating an error would cost several times what it costs in production.
    Error.stackTraceLimit = 10;
  }

  async teardown() {
    globalThis.console = this.#console;
  }
}
