import fs from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { LogFile, LogFiles } from '@cluster-apiserver/audit';

/** The audit log holds what users do, and is for its owner alone. */
const fileMode = 0o600;
const folderMode = 0o700;
const stdout = 1;

/** The files of the audit log, on the machine. All work is done beside the event loop. */
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
  // Whole or not there: a file that was written in part is written again after the next rotation.
  compress: async (from, to) => {
    const part = `${to}.part`;
    await pipeline(fs.createReadStream(from), createGzip(), fs.createWriteStream(part, { mode: fileMode }));
    await rename(part, to);
  },
};
