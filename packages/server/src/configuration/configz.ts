import { type Clock, ownKeys } from '@cluster-apiserver/base';
import { formatTime } from '@cluster-apiserver/model';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { type NonResourceRoutes, textResponse } from '@cluster-apiserver/pipeline';
import type { ServerFlags } from '../flags/flags.ts';
import type { Files } from '../environment.ts';
import { version } from '../version.ts';
import type { FileRecords, RecordedFile } from '../files/file-records.ts';
import { fileOf, readFlagFile } from '../files/flag-files.ts';
import { formatFlags } from '../flags/format-flags.ts';

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
  for (const flag of ownKeys(startupFiles)) {
    const file = fileOf(flags, flag);
    if (file)
      records.add({ ...file, ...startupFiles[flag], restartRequired: true }).applied(await readFlagFile(file, files));
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
