import { pollChanges, type CleanupStack, requireValue } from '@cluster-apiserver/base';
import {
  type ServiceAccountKeys,
  createServiceAccountKeys,
  parseSigningKey,
  UnusableKeyError,
  parseVerifyingKeys,
} from '@cluster-apiserver/gates';
import { asError } from '../as-error.ts';
import { FlagError } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import type { WiringContext } from '../configuration/context.ts';
import type { ServiceAccountSettings } from './service-account-settings.ts';

/** The current keys of the files. */
export interface FollowedKeys {
  current(): ServiceAccountKeys;
  /** Reads the files at once. Errors are left to the periodic reload, which logs them. */
  readonly reload: () => Promise<void>;
  onChange(listener: () => void): void;
}

/** Short, because operators wait for rotated keys to take effect. The files are small. */
const pollMs = 1_000;

type Contents = readonly Buffer[];

export async function followKeys(
  settings: ServiceAccountSettings,
  { environment: { clock, files }, log, records }: Pick<WiringContext, 'environment' | 'log' | 'records'>,
  cleanup: CleanupStack,
): Promise<FollowedKeys> {
  const { signingKeyFile, keyFiles } = settings;
  const read = (): Promise<Contents> => readKeyFiles(settings, files);
  let contents = await read();
  let keys = await parseKeys(contents, settings);
  const fileRecords = [
    records.add({ flag: 'service-account-signing-key-file', kind: 'private key', path: signingKeyFile }),
    ...keyFiles.map((path) => records.add({ flag: 'service-account-key-file', kind: 'keys', path })),
  ];
  const recordContents = (): void =>
    fileRecords.forEach((record, index) => record.applied(requireValue(contents[index])));
  recordContents();
  const listeners: (() => void)[] = [];
  const use = async (next: Contents): Promise<void> => {
    keys = await parseKeys(next, settings);
    contents = next;
    recordContents();
    log.withName('authentication').info('keys of service account tokens reloaded', { signingWith: keys.signing.kid });
    for (const listener of listeners) listener();
  };
  const stop = pollChanges(
    {
      clock,
      pollMs,
      read,
      // Compares with the latest content: `reload` may have read the files since.
      isEqual: (next) => areSame(next, contents),
      apply: use,
      onError: (error) => {
        // All keys are loaded together.
        for (const record of fileRecords) record.failed(error);
        log
          .withName('authentication')
          .error('cannot reload the keys of service account tokens; keeping the previous ones', {
            error: asError(error),
          });
      },
    },
    contents,
  );
  cleanup.defer('keys for tokens of service accounts', stop);
  return {
    current: () => keys,
    reload: async () => {
      const next = await read().catch(() => contents);
      if (!areSame(next, contents)) await use(next).catch(() => {});
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

const areSame = (one: Contents, other: Contents): boolean =>
  one.every((content, index) => other[index]?.equals(content));

const readKeyFiles = ({ signingKeyFile, keyFiles }: ServiceAccountSettings, files: Files): Promise<Contents> =>
  Promise.all([
    readKeyFile('service-account-signing-key-file', signingKeyFile, files),
    ...keyFiles.map((file) => readKeyFile('service-account-key-file', file, files)),
  ]);

/** Throws a FlagError for files that hold no usable keys. */
export const loadKeys = async (settings: ServiceAccountSettings, files: Files): Promise<ServiceAccountKeys> =>
  parseKeys(await readKeyFiles(settings, files), settings);

type KeyFlag = 'service-account-signing-key-file' | 'service-account-key-file';

async function readKeyFile(flag: KeyFlag, file: string, files: Files): Promise<Buffer> {
  try {
    return await files.read(file);
  } catch (error) {
    throw new FlagError([`--${flag}: cannot read ${file}: ${asError(error).message}`]);
  }
}

async function parseKeys(
  [signing, ...others]: Contents,
  { signingKeyFile, keyFiles }: ServiceAccountSettings,
): Promise<ServiceAccountKeys> {
  const signingKey = await withFileErrors('service-account-signing-key-file', signingKeyFile, () =>
    parseSigningKey(String(signing)),
  );
  const verifying = await Promise.all(
    keyFiles.map((file, index) =>
      withFileErrors('service-account-key-file', file, () =>
        parseVerifyingKeys(requireValue(others[index]).toString()),
      ),
    ),
  );
  return createServiceAccountKeys(signingKey, verifying.flat());
}

async function withFileErrors<T>(flag: KeyFlag, file: string, parse: () => T | Promise<T>): Promise<T> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof UnusableKeyError) throw new FlagError([`--${flag}: ${file}: ${error.message}`]);
    throw error;
  }
}
