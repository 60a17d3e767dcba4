import fs from 'node:fs';
import { errorCode } from '@cluster-apiserver/base';

/** Replaces a file atomically. */
export function replaceFile(file: string, content: string, mode = 0o644): void {
  const next = `${file}.next`;
  fs.writeFileSync(next, content, { mode });
  fs.renameSync(next, file);
}

export function readIfExists(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
