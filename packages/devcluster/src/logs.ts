import fs from 'node:fs';
import path from 'node:path';

/** Starts new logs and keeps those of the previous start, so that they do not grow without limit. */
export function beginLogs(directory: string): void {
  fs.mkdirSync(directory, { recursive: true });
  for (const name of fs.readdirSync(directory).filter((file) => file.endsWith('.log'))) {
    fs.renameSync(path.join(directory, name), path.join(directory, `${name}.previous`));
  }
}
