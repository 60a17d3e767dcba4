import fs, { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { LogFile, LogFiles } from '@cluster-apiserver/audit';
import { errorCode } from '@cluster-apiserver/base';

/** The audit log records what users do, so only the owner may read it. */
const fileMode = 0o600;
const folderMode = 0o700;
const stdout = 1;
/** Not blocking: opening a pipe without a reader would never return. */
const openFlags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

/** Audit log files on the local disk. All calls are asynchronous. */
export const auditFiles: LogFiles = {
  open: async (file) => {
    await createFolder(path.dirname(file));
    const handle = await openPath(file);
    await requireFile(handle);
    return {
      size: async () => (await handle.stat()).size,
      write: async (bytes) => (await handle.write(bytes)).bytesWritten,
      truncate: (sizeBytes) => handle.truncate(sizeBytes),
      close: () => handle.close(),
    };
  },
  standardOutput: (): LogFile => ({
    size: async () => 0,
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

/** Not Node's recursive `mkdir`, which never returns for a path below /proc. */
async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, folderMode);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return;
    const parent = path.dirname(folder);
    if (errorCode(error) !== 'ENOENT' || parent === folder) throw error;
    await createFolder(parent);
    await mkdir(folder, folderMode);
  }
}

async function openPath(file: string): Promise<FileHandle> {
  try {
    return await open(file, openFlags, fileMode);
  } catch (error) {
    if (errorCode(error) === 'ENXIO') throw new Error(unsupportedFile, { cause: error });
    throw error;
  }
}

/** Closes the file and throws if it is none that can be rotated. */
async function requireFile(handle: FileHandle): Promise<void> {
  const stats = await handle.stat();
  if (stats.isFile() || stats.isCharacterDevice()) return;
  await handle.close();
  throw new Error(unsupportedFile);
}

const unsupportedFile = 'neither a regular file nor a device; the path "-" writes to the standard output';
