import { errorMessage } from '@cluster-apiserver/base';
import { ConfigurationError } from '@cluster-apiserver/config';
import type { Files } from '../environment.ts';
import { FlagError } from '../flags/flag.ts';

/** A file and the flag that names it. */
export interface FlagFile {
  readonly flag: string;
  readonly path: string;
}

/** The file of a flag; undefined if the flag is not set. */
export const fileOf = <Name extends string>(
  values: { readonly [name in Name]: string },
  flag: Name,
): FlagFile | undefined => (values[flag] === '' ? undefined : { flag, path: values[flag] });

/** Errors name the flag. */
export async function readFlagFile({ flag, path }: FlagFile, files: Files): Promise<Buffer> {
  try {
    return await files.read(path);
  } catch (error) {
    throw new FlagError([`--${flag}: cannot read ${path}: ${errorMessage(error)}`]);
  }
}

/** All contents, or one FlagError with the faults of all files that cannot be read. */
export const readFlagFiles = (list: readonly FlagFile[], files: Files): Promise<readonly Buffer[]> =>
  withAllFaults(list.map((file) => readFlagFile(file, files)));

/** All results, or one FlagError with the faults of all that failed. */
export async function withAllFaults<T>(results: readonly Promise<T>[]): Promise<readonly T[]> {
  const faults: string[] = [];
  for (const one of await Promise.allSettled(results)) {
    if (one.status === 'fulfilled') continue;
    if (!(one.reason instanceof FlagError)) throw one.reason;
    faults.push(...one.reason.faults);
  }
  if (faults.length > 0) throw new FlagError(faults);
  return Promise.all(results);
}

/** Loads the configuration file of a flag; undefined if the flag is not set. Errors name the flag. */
export async function loadFlagFile<T>(
  file: FlagFile | undefined,
  files: Files,
  load: (content: string) => T | Promise<T>,
): Promise<T | undefined> {
  if (!file) return undefined;
  const content = await readFlagFile(file, files);
  return withFlagErrors(file.flag, () => load(content.toString()));
}

/** Converts a ConfigurationError to a FlagError that names the flag. */
export async function withFlagErrors<T>(flag: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new FlagError(error.faults.map((fault) => `--${flag}: ${fault}`));
  }
}
