/** The peer of an HTTP/2 connection in memory, which a test controls frame by frame. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Clock } from '@cluster-apiserver/base';
import type { Dial, ByteReceiver } from '../src/etcd/http2/dial.ts';
import { frameHead, headBytes, preface } from '../src/etcd/http2/frames.ts';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export interface FramePeer {
  readonly dial: Dial;
  readonly clock: Clock;
  /** The frames since the last call. */
  takeReceived(): readonly Frame[];
  send(...bytes: readonly Buffer[]): void;
  /** Advances the clock without an event-loop iteration, so that timers are late. */
  stall(ms: number): void;
  /** Runs one event-loop iteration, with the timers that are due. */
  turn(): void;
  readonly closed: boolean;
  /** From now on what is sent to it waits. */
  stopReading(): void;
}

export function framePeer(): FramePeer {
  let nowMs = 0;
  let to: ByteReceiver | undefined;
  let unread = Buffer.alloc(0);
  let greeted = false;
  let closed = false;
  const timers = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  let soon: (() => void)[] = [];
  const clock: Clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    after: (delayMs, callback) => {
      const timer = { atMs: nowMs + delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    soon: (callback) => void soon.push(callback),
    microtask: (callback) => void soon.push(callback),
  };
  // As much of a socket as a connection uses.
  const socket = Object.assign(new EventEmitter(), {
    write: (bytes: Buffer, written?: () => void) => {
      unread = Buffer.concat([unread, bytes]);
      if (written) soon.push(written);
    },
    end: (ended: () => void) => void soon.push(ended),
    destroy: () => void (closed = true),
  }) as unknown as Socket;
  let isReading = true;
  Object.defineProperty(socket, 'writableLength', { get: () => (isReading ? 0 : 1) });
  return {
    dial: (_, __, receiver) => {
      to = receiver;
      soon.push(() => receiver.onConnect());
      return socket;
    },
    clock,
    takeReceived: () => {
      if (!greeted && unread.length >= preface.length) {
        greeted = true;
        unread = unread.subarray(preface.length);
      }
      const frames: Frame[] = [];
      while (greeted && unread.length >= headBytes) {
        const end = headBytes + unread.readUIntBE(0, 3);
        const payload = Buffer.from(unread.subarray(headBytes, end));
        frames.push({
          type: unread[3] as number,
          flags: unread[4] as number,
          stream: unread.readUInt32BE(5),
          payload,
        });
        unread = unread.subarray(end);
      }
      return frames;
    },
    send: (...bytes) => to?.onData(Buffer.concat(bytes)),
    stall: (ms) => {
      nowMs += ms;
    },
    turn: () => {
      for (const timer of [...timers].filter(({ atMs }) => atMs <= nowMs)) if (timers.delete(timer)) timer.callback();
      const ready = soon;
      soon = [];
      for (const callback of ready) callback();
    },
    get closed() {
      return closed;
    },
    stopReading: () => {
      isReading = false;
    },
  };
}

export const frame = (type: number, flagged: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([frameHead(type, flagged, stream, payload.length), payload]);
