import fs from 'node:fs';
import net from 'node:net';
import { errorCode } from '@cluster-apiserver/base';
import type { ByteOutput } from '@cluster-apiserver/telemetry';

const stderr = 2;
/** Opening this path on Linux creates a new file description with its own flags for the same pipe or terminal. */
const stderrPath = '/proc/self/fd/2';
/** Pause between writes to a full pipe, and how many of them the end of the process waits for. */
const fullPauseMs = 5;
const fullPausesMax = 40;

/**
 * Standard error in non-blocking mode. A blocking write to a pipe without a reader would occupy a thread of Node's pool, and
 * the process could not exit, because it waits for its threads.
 */
export function openStderr(): ByteOutput {
  const about = fs.fstatSync(stderr);
  // Writes to a regular file do not block.
  if (about.isFile()) return createFileOutput(stderr);
  try {
    const { O_WRONLY, O_NONBLOCK, O_APPEND } = fs.constants;
    return createFileOutput(fs.openSync(stderrPath, O_WRONLY | O_NONBLOCK | O_APPEND));
  } catch {
    // Sockets, and files of other users, cannot be reopened. Node then makes the shared file description non-blocking.
    return about.isSocket() || about.isFIFO() ? createSocketOutput() : createFileOutput(stderr);
  }
}

const createFileOutput = (descriptor: number): ByteOutput => ({
  write: (bytes, done) => fs.write(descriptor, bytes, done),
  writeSync: (bytes) => writeSync(descriptor, bytes),
});

function createSocketOutput(): ByteOutput {
  const socket = new net.Socket({ fd: stderr, readable: false, writable: true });
  // The callback of each write receives the error.
  socket.on('error', () => {});
  socket.unref();
  return {
    write: (bytes, done) => void socket.write(bytes, (error) => done(error ?? null, error ? 0 : bytes.length)),
    writeSync: (bytes) => writeSync(stderr, bytes),
  };
}

/** Waits briefly for a slow reader. Throws if nothing is read. */
function writeSync(descriptor: number, bytes: Buffer): number {
  for (let pauses = 0; ; pauses++) {
    try {
      return fs.writeSync(descriptor, bytes);
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN' || pauses === fullPausesMax) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPauseMs);
    }
  }
}
