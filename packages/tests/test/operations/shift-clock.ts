// Loaded with `node --import` before a server: shifts the wall clock of its process by CLOCK_SHIFT_MS. The monotonic clock,
// timers, TLS and the clocks of etcd stay as they are.
const shiftMs = Number(process.env['CLOCK_SHIFT_MS']);
const now = Date.now.bind(Date);

globalThis.Date = class extends Date {
  constructor(...parts: ConstructorParameters<typeof Date> | []) {
    if (parts.length === 0) super(now() + shiftMs);
    else super(...parts);
  }

  static override now(): number {
    return now() + shiftMs;
  }
} as DateConstructor;
