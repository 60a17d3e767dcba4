/**
 * Measures event-loop iterations: in CPU time of its thread, where other processes do not count and pauses of V8's
 * garbage collector do, or by counting.
 */
import net from 'node:net';
import { PerformanceObserver } from 'node:perf_hooks';

const millisecondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

interface MeteredTurn {
  readonly beganMs: number;
  readonly endedMs: number;
  readonly processorMs: number;
}

/** Until `end`, calls `use` after each turn that took more than `shortMs`. */
export function meterTurns(shortMs: number, use: (turn: MeteredTurn) => void): { end(): void } {
  const read = () => ({ atMs: performance.now(), processorMs: millisecondsOf(process.threadCpuUsage()) });
  let last = read();
  // The timer is due in each turn, so the time from one call to the next is one turn and at most a millisecond.
  const timer = setInterval(() => {
    const now = read();
    const processorMs = now.processorMs - last.processorMs;
    if (processorMs > shortMs) use({ beganMs: last.atMs, endedMs: now.atMs, processorMs });
    last = read(); // without what `use` took
  }, 1).unref();
  return { end: () => clearInterval(timer) };
}

export interface Turn {
  readonly processorMs: number;
  /**
   * The pauses of the garbage collector meanwhile. `perf_hooks` does not report its steps of marking, such as those that
   * new memory for Buffers causes: a CPU profile shows them.
   */
  readonly pausedMs: number;
}

/** Records turns of more than `shortMs` until `end`, which returns them, longest first. */
export function watchTurns(shortMs = 2): { end(): readonly Turn[] } {
  const turns: MeteredTurn[] = [];
  const pauses: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => void pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  const meter = meterTurns(shortMs, (turn) => turns.push(turn));
  return {
    end: () => {
      meter.end();
      // The latest pauses have not been delivered yet.
      pauses.push(...observer.takeRecords());
      observer.disconnect();
      return turns
        .toSorted((one, other) => other.processorMs - one.processorMs)
        .map(({ beganMs, endedMs, processorMs }) => ({
          processorMs,
          pausedMs: pauses
            .filter(({ startTime, duration }) => startTime < endedMs && startTime + duration > beganMs)
            .reduce((sum, { duration }) => sum + duration, 0),
        }));
    },
  };
}

export interface TurnCounts {
  /** The most bytes that all connections together have read in one turn, and how many connections there were at most. */
  readonly bytesRead: number;
  readonly connections: number;
  /** The most characters of JSON that were parsed in one turn in texts from `largeText` on, and the longest of them. */
  readonly parsed: number;
  readonly longest: number;
}

/**
 * Until `end`, counts what turns do with what the peers of connections send that begin meanwhile. `onParse` is called with
 * the length of each text of JSON after it was parsed.
 */
export function countTurns(largeText: number, onParse = (_length: number): void => {}): { end(): TurnCounts } {
  const sockets = new Set<net.Socket>();
  const most = { bytesRead: 0, connections: 0, parsed: 0, longest: 0 };
  let [readBefore, parsed] = [0, 0];
  // oxlint-disable-next-line typescript/unbound-method -- it is called with its socket
  const { connect } = net.Socket.prototype;
  const { parse } = JSON;
  net.Socket.prototype.connect = function (this: net.Socket, ...options: never): net.Socket {
    sockets.add(this);
    return Reflect.apply(connect, this, options);
  };
  const counted = (text: string, ...more: unknown[]): unknown => {
    if (text.length >= largeText) parsed += text.length;
    most.longest = Math.max(most.longest, text.length);
    const value: unknown = Reflect.apply(parse, JSON, [text, ...more]);
    onParse(text.length);
    return value;
  };
  JSON.parse = counted;
  const nextTurn = (): void => {
    let read = 0;
    for (const socket of sockets) read += socket.bytesRead;
    most.bytesRead = Math.max(most.bytesRead, read - readBefore);
    most.connections = Math.max(most.connections, [...sockets].filter(({ destroyed }) => !destroyed).length);
    most.parsed = Math.max(most.parsed, parsed);
    [readBefore, parsed] = [read, 0];
    immediate = setImmediate(nextTurn);
  };
  let immediate = setImmediate(nextTurn);
  return {
    end: () => {
      clearImmediate(immediate);
      net.Socket.prototype.connect = connect;
      JSON.parse = parse;
      return most;
    },
  };
}
