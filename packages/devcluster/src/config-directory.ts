import fs from 'node:fs';
import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import { UsageError } from './options.ts';

/** READMEs and hidden files are ignored. */
const flagFile = /^[a-z][a-z0-9-]*\.[a-z]+$/;

/** Passes each file as the flag of its name: `audit-policy-file.yaml` sets --audit-policy-file. */
export function readConfigDirectory(directory: string): string[] {
  const absolute = path.resolve(directory);
  let entries: fs.Dirent[];
  try {
    entries = fs.readdirSync(absolute, { withFileTypes: true });
  } catch (error) {
    throw new UsageError(`--config-dir ${directory} cannot be read: ${errorMessage(error)}`);
  }
  return entries
    .filter((entry) => entry.isFile() && flagFile.test(entry.name))
    .map(({ name }) => `--${path.parse(name).name}=${path.join(absolute, name)}`)
    .sort();
}
