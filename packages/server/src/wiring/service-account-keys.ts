import { pollChanges, type CleanupStack } from '@cluster-apiserver/base';
import {
  type ServiceAccountKeys,
  serviceAccountKeys,
  signingKeyIn,
  UnusableKeyError,
  verifyingKeysIn,
} from '@cluster-apiserver/gates';
import { asError } from '../as-error.ts';
import { FlagError } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';
import type { FollowingOptions } from './followed-configuration.ts';
import type { ServiceAccountSettings } from './service-account-flags.ts';

/** The keys as their files say it now. */
export interface FollowedKeys {
  current(): ServiceAccountKeys;
  /** Reads the files at once. What cannot be used is told by those who follow them. */
  lookAgain(): Promise<void>;
  onChange(listener: () => void): void;
}

/** A few small files. Whoever rotates keys waits for them to be read, and not for much longer than that. */
const pollMs = 1_000;

type Contents = readonly Buffer[];

export async function followKeys(
  settings: ServiceAccountSettings,
  { surroundings: { clock, files }, log, records }: Pick<FollowingOptions, 'surroundings' | 'log' | 'records'>,
  scope: CleanupStack,
): Promise<FollowedKeys> {
  const { signingKeyFile, keyFiles } = settings;
  const read = (): Promise<Contents> =>
    Promise.all([
      contentOf('service-account-signing-key-file', signingKeyFile, files),
      ...keyFiles.map((file) => contentOf('service-account-key-file', file, files)),
    ]);
  let contents = await read();
  let keys = await keysIn(contents, settings);
  const recorded = [
    records.add({ flag: 'service-account-signing-key-file', kind: 'private key', path: signingKeyFile }),
    ...keyFiles.map((path) => records.add({ flag: 'service-account-key-file', kind: 'keys', path })),
  ];
  const noteContents = (): void => recorded.forEach((record, index) => record.applied(contents[index] as Buffer));
  noteContents();
  const listeners: (() => void)[] = [];
  const use = async (next: Contents): Promise<void> => {
    keys = await keysIn(next, settings);
    contents = next;
    noteContents();
    log.withName('authentication').info('keys of service account tokens reloaded', { signingWith: keys.signing.kid });
    for (const listener of listeners) listener();
  };
  const stop = pollChanges(
    {
      clock,
      pollMs,
      read,
      // Somebody may have looked since the last time.
      isEqual: (next) => areSame(next, contents),
      apply: use,
      onError: (error) => {
        // They are used together or not at all.
        for (const record of recorded) record.failed(error);
        log
          .withName('authentication')
          .error('cannot reload the keys of service account tokens; keeping the previous ones', {
            error: asError(error),
          });
      },
    },
    contents,
  );
  scope.defer('keys for tokens of service accounts', stop);
  return {
    current: () => keys,
    lookAgain: async () => {
      const next = await read().catch(() => contents);
      if (!areSame(next, contents)) await use(next).catch(() => {});
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

const areSame = (one: Contents, other: Contents): boolean =>
  one.every((content, index) => content.equals(other[index] as Buffer));

type KeyFlag = 'service-account-signing-key-file' | 'service-account-key-file';

async function contentOf(flag: KeyFlag, file: string, files: Surroundings['files']): Promise<Buffer> {
  try {
    return await files.read(file);
  } catch (error) {
    throw new FlagError([`--${flag}: cannot read ${file}: ${asError(error).message}`]);
  }
}

async function keysIn(
  [signing, ...others]: Contents,
  { signingKeyFile, keyFiles }: ServiceAccountSettings,
): Promise<ServiceAccountKeys> {
  const signingKey = await byFile('service-account-signing-key-file', signingKeyFile, () =>
    signingKeyIn(String(signing)),
  );
  const verifying = await Promise.all(
    others.map((pem, index) =>
      byFile('service-account-key-file', keyFiles[index] as string, () => verifyingKeysIn(pem.toString())),
    ),
  );
  return serviceAccountKeys(signingKey, verifying.flat());
}

async function byFile<T>(flag: KeyFlag, file: string, parse: () => T | Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof UnusableKeyError) throw new FlagError([`--${flag}: ${file}: ${error.message}`]);
    throw error;
  }
}
