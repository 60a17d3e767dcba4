import { isDeepStrictEqual } from 'node:util';
import { type Clock, pollChanges, type CleanupStack } from '@cluster-apiserver/base';
import type { AdmissionConfiguration } from '@cluster-apiserver/config';
import type { AdmissionPluginName } from '@cluster-apiserver/gates';
import type { StaticSource } from '@cluster-apiserver/policies';
import type { Resource } from '@cluster-apiserver/registry';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Files } from '../environment.ts';
import type { ConfiguredAdmission } from './configured-admission.ts';
import type { FileRecord } from '../configuration/configz.ts';
import {
  type ManifestFile,
  readManifestFiles,
  loadStaticManifests,
  type StaticManifests,
} from './read-static-manifests.ts';
import type { ReloadMeasures } from '../files/reload-measures.ts';

interface StaticManifestsOptions<Objects> {
  readonly directory: string;
  /** Allowed resources. */
  readonly resources: readonly Resource[];
  /** Builds what the plugin uses. */
  readonly build: (objects: StaticManifests) => Objects;
  readonly files: Files;
  readonly measures: ReloadMeasures;
  readonly record: FileRecord;
  readonly clock: Clock;
  readonly log: Log;
}

/** It names the file that names the directory. */
const flag = 'admission-control-config-file';

/** The static manifests of a plugin; undefined if none are configured. */
export async function openStaticManifests<Objects>(
  plugin: AdmissionPluginName & keyof AdmissionConfiguration,
  resources: readonly Resource[],
  build: (objects: StaticManifests) => Objects,
  { configuration, manifestMeasures, records, cleanup, ...dependencies }: ConfiguredAdmission,
): Promise<StaticSource<Objects> | undefined> {
  const configured = configuration[plugin];
  if (!configured || !('staticManifestsDir' in configured)) return undefined;
  const { staticManifestsDir: directory } = configured;
  if (directory === undefined) return undefined;
  const measures = manifestMeasures({ plugin });
  const kind = `static manifests of ${plugin}`;
  const record = records.add({ flag, kind, path: directory });
  return followStaticManifests({ ...dependencies, directory, resources, build, measures, record }, cleanup);
}

/** Short, because operators wait for a change to take effect. The files are small. */
const pollMs = 1_000;

/**
 * Loads the manifests of a directory and reloads them on changes. The first ones must be valid, or a ConfigurationError is
 * thrown; later ones are applied as a whole, or logged and ignored.
 */
async function followStaticManifests<Objects>(
  options: StaticManifestsOptions<Objects>,
  cleanup: CleanupStack,
): Promise<StaticSource<Objects>> {
  const { directory, build, resources, files, measures, record, clock, log } = options;
  const first = await readManifestFiles(directory, files);
  let current = build(await loadStaticManifests(first, resources));
  const listeners: (() => void)[] = [];
  const applied = (content: readonly ManifestFile[]): void => {
    measures.applied(toHashedBytes(content));
    record.applied(toHashedBytes(content));
    measures.reloaded('success');
  };
  applied(first);
  const stop = pollChanges(
    {
      clock,
      pollMs,
      read: () => readManifestFiles(directory, files),
      isEqual: (one, other) => isDeepStrictEqual(one, other),
      apply: async (next) => {
        current = build(await loadStaticManifests(next, resources));
        applied(next);
        for (const listener of listeners) listener();
        log.withName('admission').info('static admission manifests reloaded', { directory });
      },
      onError: (error) => {
        measures.reloaded('failure');
        record.failed(error);
        log.withName('admission').error('cannot reload static admission manifests; keeping the previous ones', {
          flag,
          directory,
          error: asError(error),
        });
      },
    },
    first,
  );
  cleanup.defer(`static manifests of ${directory}`, stop);
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

/** The bytes that kube-apiserver hashes, too. */
const toHashedBytes = (files: readonly ManifestFile[]): Buffer =>
  Buffer.from(files.map(({ text }) => (text === '' ? '' : `${text}\0`)).join(''));
