import type { Clock } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { type NonResourceRoutes, textResponse } from '@cluster-apiserver/pipeline';
import { version } from '../version.ts';
import type { FileRecords, RecordedFile } from '../files/file-records.ts';

/** The path that Kubernetes components use. */
export const configzPath = '/configz';

/** The active configuration without secrets: flags contain file paths, and files are shown as hashes. */
export interface Configz {
  readonly version: string;
  readonly startTime: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly files: readonly RecordedFile[];
}

/** Whether a document of another server has these fields. */
export const isConfigz = (value: unknown): value is Configz =>
  isJsonObject(value) &&
  haveText(value['version'], value['startTime']) &&
  isJsonObject(value['flags']) &&
  haveText(...Object.values(value['flags'])) &&
  Array.isArray(value['files']) &&
  value['files'].every(isRecordedFile);

function isRecordedFile(value: unknown): value is RecordedFile {
  if (!isJsonObject(value)) return false;
  const { flag, kind, path, hash: sha256 = '', lastReloadTime, lastReloadError: error } = value;
  const hasError = isJsonObject(error) && haveText(error['time'], error['message']);
  return haveText(flag, kind, path, lastReloadTime, sha256) && (error === undefined || hasError);
}

const haveText = (...values: readonly unknown[]): boolean => values.every((value) => typeof value === 'string');

/** The document at `configzPath`. It requires permission for that path, which no default role grants. */
export function createConfigzDocument(
  flags: Configz['flags'],
  records: FileRecords,
  clock: Clock,
): NonResourceRoutes[string] {
  const startTime = formatTime(clock.now());
  return ({ auditId }) => {
    const configz: Configz = { version, startTime, flags, files: records.list() };
    return textResponse(auditId, 200, `${JSON.stringify(configz, null, 2)}\n`, { 'content-type': 'application/json' });
  };
}
