import { type CleanupStack, requireValue } from '@cluster-apiserver/base';
import {
  type ServiceAccountKeys,
  createServiceAccountKeys,
  parseSigningKey,
  UnusableKeyError,
  parseVerifyingKeys,
} from '@cluster-apiserver/gates';
import type { Files } from '../environment.ts';
import type { ServerContext } from '../configuration/context.ts';
import { type FlagFile, readFlagFiles, withAllFaults } from '../files/flag-files.ts';
import { type Followed, followFiles } from '../files/follow-files.ts';
import { FlagError } from '../flags/flag.ts';
import type { ServiceAccountSettings } from './service-account-settings.ts';

/** The current keys of the files. */
export async function followKeys(
  { signingKey, otherKeys }: ServiceAccountSettings,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Followed<ServiceAccountKeys>> {
  const files = [signingKey, ...otherKeys];
  const followed = await followFiles(
    {
      name: 'keys of service account tokens',
      files: files.map((file) => ({ ...file, kind: file === signingKey ? 'private key' : 'keys' })),
      read: () => readFlagFiles(files, context.environment.files),
      bytesOf: (contents) => contents,
      build: (contents) => parseKeys(files, contents),
    },
    context,
  );
  cleanup.defer('keys of service account tokens', followed.close);
  return followed;
}

/** Throws a FlagError for files that hold no usable keys. */
export async function loadKeys(
  { signingKey, otherKeys }: ServiceAccountSettings,
  reader: Files,
): Promise<ServiceAccountKeys> {
  const files = [signingKey, ...otherKeys];
  return parseKeys(files, await readFlagFiles(files, reader));
}

/** The first file has the signing key. */
async function parseKeys(files: readonly FlagFile[], contents: readonly Buffer[]): Promise<ServiceAccountKeys> {
  const texts = contents.map(String);
  const parse = async <T>(index: number, act: (text: string) => T | Promise<T>): Promise<T> => {
    const { flag, path } = requireValue(files[index]);
    try {
      return await act(requireValue(texts[index]));
    } catch (error) {
      if (error instanceof UnusableKeyError) throw new FlagError([`--${flag}: ${path}: ${error.message}`]);
      throw error;
    }
  };
  const [signing, verifying] = await Promise.all([
    parse(0, parseSigningKey),
    withAllFaults(files.slice(1).map((_, index) => parse(index + 1, parseVerifyingKeys))),
  ]);
  return createServiceAccountKeys(signing, verifying.flat());
}
