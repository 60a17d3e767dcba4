import { hash } from 'node:crypto';
import { asError, type Clock } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** A file as `/configz` shows it. */
export interface RecordedFile extends DescribedFile {
  /** SHA-256 of the active content. Absent for files of passwords and tokens: a hash would allow offline guessing. */
  readonly hash?: string;
  /** When the active content was loaded. */
  readonly lastReloadTime: string;
  /** Set if the file has changed since then and could not be loaded. */
  readonly lastReloadError?: { readonly time: string; readonly message: string };
}

export interface DescribedFile {
  readonly flag: string;
  /** Kind of the configuration, or a description of the content. */
  readonly kind: string;
  /** Path of a file or directory. */
  readonly path: string;
  /** Set if the file is read only at startup: the server does not notice changes. */
  readonly restartRequired?: true;
}

/** Records the state of a file. */
export interface FileRecord {
  readonly applied: (content: Buffer | string) => void;
  /** The previous content stays active. */
  readonly failed: (error: unknown) => void;
  /** The file is no longer used. */
  readonly remove: () => void;
}

export interface FileRecords {
  add(file: DescribedFile & { readonly mayBeGuessed?: boolean }): FileRecord;
  list(): readonly RecordedFile[];
}

/** The files in use. Each attempt to load a changed one is counted: one series for each flag that names some. */
export function createFileRecords(clock: Clock, metrics: Metrics): FileRecords {
  const reloads = metrics.counter({
    name: 'apiserver_configuration_file_reloads_total',
    help: 'Number of reloads of changed files, by the flag that names the file and status.',
    labels: { flag: 'any', status: ['success', 'failure'] },
  });
  const records = new Map<FileRecord, RecordedFile>();
  const now = (): string => formatTime(clock.now());
  return {
    add: ({ mayBeGuessed = false, ...file }) => {
      const { flag } = file;
      const record: FileRecord = {
        applied: (content) => {
          if (records.has(record)) reloads.add({ flag, status: 'success' });
          records.set(record, {
            ...file,
            ...(!mayBeGuessed && { hash: `sha256:${hash('sha256', content, 'hex')}` }),
            lastReloadTime: now(),
          });
        },
        failed: (error) => {
          reloads.add({ flag, status: 'failure' });
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
