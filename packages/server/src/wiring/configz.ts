import { hash } from 'node:crypto';
import type { Clock } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import { type Documents, textResponse } from '@cluster-apiserver/pipeline';
import { asError } from '../as-error.ts';

import type { ServerFlags } from '../flags.ts';
import type { Files } from '../environment.ts';
import { version } from '../version.ts';
import { readFlagFile } from './flag-files.ts';
import { formatFlags } from './flag-texts.ts';

/** As the components of Kubernetes call it. */
export const configzPath = '/configz';

/** What the server uses, without anything secret: flags hold paths of files, and of files there are only hashes. */
export interface Configz {
  readonly version: string;
  readonly startTime: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly files: readonly ConfigzFile[];
}

interface ConfigzFile {
  readonly flag: string;
  /** Of the configuration, or what else the file holds. */
  readonly kind: string;
  /** Of a file or of a directory. */
  readonly path: string;
  /** SHA-256 of the content in use. Absent for files of passwords and tokens, which it would let somebody guess. */
  readonly hash?: string;
  /** Of the content in use. */
  readonly lastReloadTime: string;
  /** Set if the file has changed since and could not be used. */
  readonly lastReloadError?: { readonly time: string; readonly message: string };
}

/** Notes what becomes of a file. */
export interface FileRecord {
  applied(content: Buffer | string): void;
  /** The old content stays in use. */
  failed(error: unknown): void;
  /** It is not used any longer. */
  remove(): void;
}

export interface FileRecords {
  add(file: Pick<ConfigzFile, 'flag' | 'kind' | 'path'> & { readonly mayBeGuessed?: boolean }): FileRecord;
  list(): readonly ConfigzFile[];
}

export function createFileRecords(clock: Clock): FileRecords {
  const records = new Map<FileRecord, ConfigzFile>();
  const now = (): string => formatTime(clock.now());
  return {
    add: ({ mayBeGuessed = false, ...file }) => {
      const record: FileRecord = {
        applied: (content) =>
          void records.set(record, {
            ...file,
            ...(!mayBeGuessed && { hash: `sha256:${hash('sha256', content, 'hex')}` }),
            lastReloadTime: now(),
          }),
        failed: (error) => {
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

/** Files that are read when the server starts, and not again. */
const startupFiles = {
  'etcd-cafile': { kind: 'certificates' },
  'etcd-certfile': { kind: 'certificate' },
  'etcd-keyfile': { kind: 'private key' },
  'token-auth-file': { kind: 'static tokens', mayBeGuessed: true },
  'oidc-ca-file': { kind: 'certificates' },
  'egress-selector-config-file': { kind: 'EgressSelectorConfiguration' },
  'admission-control-config-file': { kind: 'AdmissionConfiguration' },
  'tracing-config-file': { kind: 'TracingConfiguration' },
} as const;

/** Notes those of them that flags name. A server that cannot use one of them does not start. */
export async function recordStartupFiles(flags: ServerFlags, files: Files, records: FileRecords): Promise<void> {
  for (const flag of Object.keys(startupFiles) as (keyof typeof startupFiles)[])
    if (flags[flag] !== '') {
      const content = await readFlagFile(flag, flags, files);
      if (content) records.add({ flag, path: flags[flag], ...startupFiles[flag] }).applied(content);
    }
}

/** The document behind `configzPath`. It takes a right of its own, which no default role has. */
export function createConfigzDocument(flags: ServerFlags, records: FileRecords, clock: Clock): Documents[string] {
  const startTime = formatTime(clock.now());
  const texts = formatFlags(flags);
  return ({ auditId }) => {
    const configz: Configz = { version, startTime, flags: texts, files: records.list() };
    return textResponse(auditId, 200, `${JSON.stringify(configz, null, 2)}\n`, { 'content-type': 'application/json' });
  };
}
