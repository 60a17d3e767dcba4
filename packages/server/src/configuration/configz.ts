import { hash } from 'node:crypto';
import { type Clock, ownKeys } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { type NonResourceRoutes, textResponse } from '@cluster-apiserver/pipeline';
import { asError } from '../as-error.ts';

import type { ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { version } from '../version.ts';
import { readFlagFile } from '../files/flag-files.ts';
import { formatFlags } from '../flags/format-flags.ts';

/** The path that Kubernetes components use. */
export const configzPath = '/configz';

/** The active configuration without secrets: flags contain file paths, and files are shown as hashes. */
export interface Configz {
  readonly version: string;
  readonly startTime: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly files: readonly ConfigzFile[];
}

interface ConfigzFile {
  readonly flag: string;
  /** Kind of the configuration, or a description of the content. */
  readonly kind: string;
  /** Path of a file or directory. */
  readonly path: string;
  /** SHA-256 of the active content. Absent for files of passwords and tokens: a hash would allow offline guessing. */
  readonly hash?: string;
  /** Set if the file is read only at startup: the server does not notice changes. */
  readonly restartRequired?: true;
  /** When the active content was loaded. */
  readonly lastReloadTime: string;
  /** Set if the file has changed since then and could not be loaded. */
  readonly lastReloadError?: { readonly time: string; readonly message: string };
}

/** Whether a document of another server has these fields. */
export const isConfigz = (value: unknown): value is Configz =>
  isJsonObject(value) &&
  haveText(value['version'], value['startTime']) &&
  isJsonObject(value['flags']) &&
  haveText(...Object.values(value['flags'])) &&
  Array.isArray(value['files']) &&
  value['files'].every(isConfigzFile);

function isConfigzFile(value: unknown): value is ConfigzFile {
  if (!isJsonObject(value)) return false;
  const { flag, kind, path, hash: sha256 = '', lastReloadTime, lastReloadError: error } = value;
  const hasError = isJsonObject(error) && haveText(error['time'], error['message']);
  return haveText(flag, kind, path, lastReloadTime, sha256) && (error === undefined || hasError);
}

const haveText = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string');

/** Records the state of a file. */
export interface FileRecord {
  readonly applied: (content: Buffer | string) => void;
  /** The previous content stays active. */
  readonly failed: (error: unknown) => void;
  /** The file is no longer used. */
  readonly remove: () => void;
}

export interface FileRecords {
  add(
    file: Pick<ConfigzFile, 'flag' | 'kind' | 'path' | 'restartRequired'> & { readonly mayBeGuessed?: boolean },
  ): FileRecord;
  list(): readonly ConfigzFile[];
}

/** `reloaded` is called for each attempt to load a changed file. */
export function createFileRecords(
  clock: Clock,
  reloaded: (flag: string, status: 'success' | 'failure') => void = () => {},
): FileRecords {
  const records = new Map<FileRecord, ConfigzFile>();
  const now = (): string => formatTime(clock.now());
  return {
    add: ({ mayBeGuessed = false, ...file }) => {
      const record: FileRecord = {
        applied: (content) => {
          if (records.has(record)) reloaded(file.flag, 'success');
          records.set(record, {
            ...file,
            ...(!mayBeGuessed && { hash: `sha256:${hash('sha256', content, 'hex')}` }),
            lastReloadTime: now(),
          });
        },
        failed: (error) => {
          reloaded(file.flag, 'failure');
          const before = records.get(record);
          const lastReloadError = { time: now(), message: asError(error).message };
          if (before) records.set(record, { ...before, lastReloadError });
        },
        remove: () => void records.delete(record),
      };
      return record;
    },
    list: () => [...records.values()],
  };
}

/** Files that are read only at startup. */
const startupFiles = {
  'token-auth-file': { kind: 'static tokens', mayBeGuessed: true },
  'oidc-ca-file': { kind: 'certificates' },
  'egress-selector-config-file': { kind: 'EgressSelectorConfiguration' },
  'admission-control-config-file': { kind: 'AdmissionConfiguration' },
  'tracing-config-file': { kind: 'TracingConfiguration' },
} as const;

/** Records the startup files that flags name. */
export async function recordStartupFiles(flags: ServerFlags, files: Files, records: FileRecords): Promise<void> {
  for (const flag of ownKeys(startupFiles))
    if (flags[flag] !== '') {
      const content = await readFlagFile(flag, flags, files);
      if (content)
        records.add({ flag, path: flags[flag], ...startupFiles[flag], restartRequired: true }).applied(content);
    }
}

/** The document at `configzPath`. It requires permission for that path, which no default role grants. */
export function createConfigzDocument(
  flags: ServerFlags,
  records: FileRecords,
  clock: Clock,
): NonResourceRoutes[string] {
  const startTime = formatTime(clock.now());
  const texts = formatFlags(flags);
  return ({ auditId }) => {
    const configz: Configz = { version, startTime, flags: texts, files: records.list() };
    return textResponse(auditId, 200, `${JSON.stringify(configz, null, 2)}\n`, { 'content-type': 'application/json' });
  };
}
