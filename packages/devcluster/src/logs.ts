import fs from 'node:fs';
import path from 'node:path';

/** Every start begins new logs and keeps those of the start before it, so that they do not grow for ever. */
export function beginLogs(directory: string): void {
  fs.mkdirSync(directory, { recursive: true });
  for (const name of fs.readdirSync(directory).filter((file) => file.endsWith('.log'))) {
    fs.renameSync(path.join(directory, name), path.join(directory, `${name}.previous`));
  }
}
