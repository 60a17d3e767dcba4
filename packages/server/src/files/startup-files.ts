import type { Files } from '../environment.ts';
import type { DescribedFile, FileRecords } from './file-records.ts';
import { type FlagFile, readFlagFile } from './flag-files.ts';

/** Reads files that are read only at startup. */
export interface FlagFileReader {
  /** Errors name the flag. */
  readonly read: (file: FlagFile, about: StartupFile) => Promise<Buffer>;
  readonly files: Files;
}

interface StartupFile extends Pick<DescribedFile, 'kind'> {
  readonly mayBeGuessed?: boolean;
}

/** For a check, which puts nothing to use. */
export const createFlagReader = (files: Files): FlagFileReader => ({
  files,
  read: (file) => readFlagFile(file, files),
});

/** Records for /configz what is read. */
export const createStartupReader = ({
  environment: { files },
  records,
}: {
  readonly environment: { readonly files: Files };
  readonly records: FileRecords;
}): FlagFileReader => ({
  files,
  read: async (file, about) => {
    const content = await readFlagFile(file, files);
    records.add({ ...file, ...about, restartRequired: true }).applied(content);
    return content;
  },
});
