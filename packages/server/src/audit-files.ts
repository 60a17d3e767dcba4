import fs from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { LogFile, LogFiles } from '@cluster-apiserver/audit';

/** The audit log records what users do, so only the owner may read it. */
const fileMode = 0o600;
const folderMode = 0o700;
const stdout = 1;

/** Audit log files on the local disk. All calls are asynchronous. */
export const auditFiles: LogFiles = {
  open: async (file) => {
    await mkdir(path.dirname(file), { recursive: true, mode: folderMode });
    const handle = await open(file, 'a', fileMode);
    const { size } = await handle.stat();
    return {
      sizeBytes: size,
      write: async (bytes) => (await handle.write(bytes)).bytesWritten,
      truncate: (sizeBytes) => handle.truncate(sizeBytes),
      close: () => handle.close(),
    };
  },
  standardOutput: (): LogFile => ({
    sizeBytes: 0,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        fs.write(stdout, bytes, (error, written) => (error ? reject(error) : resolve(written)));
      }),
    truncate: async () => {},
    close: async () => {},
  }),
  list: (directory) => readdir(directory),
  rename,
  remove: (file) => rm(file, { force: true }),
  // Atomic: a partial file keeps its suffix, and is compressed again after the next rotation.
  compress: async (from, to) => {
    const part = `${to}.part`;
    await pipeline(fs.createReadStream(from), createGzip(), fs.createWriteStream(part, { mode: fileMode }));
    await rename(part, to);
  },
};
