import fs from 'node:fs';
import net from 'node:net';
import type { ByteOutput } from '@cluster-apiserver/telemetry';

const stderr = 2;
/** Linux opens the pipe or terminal behind it once more; the flags of the new opening are its own. */
const stderrPath = '/proc/self/fd/2';
/** Until a reader has taken some of a full pipe, and how long the end of the process waits for that. */
const fullPauseMs = 5;
const fullPausesMax = 40;

/**
 * Standard error as the output of the log, never waited for: a write that waits for a pipe that nobody reads holds a
 * thread of Node's pool, and the process could not even end, because it waits for its threads.
 */
export function openStderr(): ByteOutput {
  const about = fs.fstatSync(stderr);
  // Reading a file is nobody's business, and writing one ends.
  if (about.isFile()) return createFileOutput(stderr);
  try {
    const { O_WRONLY, O_NONBLOCK, O_APPEND } = fs.constants;
    return createFileOutput(fs.openSync(stderrPath, O_WRONLY | O_NONBLOCK | O_APPEND));
  } catch {
    // A socket cannot be opened so, nor what belongs to another user. Node makes the opening at hand non-blocking, also
    // for those who share it.
    return about.isSocket() || about.isFIFO() ? createSocketOutput() : createFileOutput(stderr);
  }
}

const createFileOutput = (descriptor: number): ByteOutput => ({
  write: (bytes, done) => fs.write(descriptor, bytes, done),
  writeSync: (bytes) => writeSync(descriptor, bytes),
});

function createSocketOutput(): ByteOutput {
  const socket = new net.Socket({ fd: stderr, readable: false, writable: true });
  // Each write is told by itself that nobody reads.
  socket.on('error', () => {});
  socket.unref();
  return {
    write: (bytes, done) => void socket.write(bytes, (error) => done(error ?? null, error ? 0 : bytes.length)),
    writeSync: (bytes) => writeSync(stderr, bytes),
  };
}

/** Gives a reader who is slower than us a moment. Throws when he does not read at all. */
function writeSync(descriptor: number, bytes: Buffer): number {
  for (let pauses = 0; ; pauses++) {
    try {
      return fs.writeSync(descriptor, bytes);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || pauses === fullPausesMax) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, fullPauseMs);
    }
  }
}
