import { isDeepStrictEqual } from 'node:util';
import { type Clock, follow, type Scope } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Files } from '../surroundings.ts';
import {
  type ManifestFile,
  readManifestFiles,
  readStaticManifests,
  type StaticManifests,
} from './read-static-manifests.ts';
import type { FileRecord } from './configz.ts';
import type { ReloadMeasures } from './reload-measures.ts';

export interface StaticManifestsOptions<Objects> {
  readonly directory: string;
  /** What the objects may be of. */
  readonly resources: readonly Resource[];
  /** The objects as they come into force. */
  readonly build: (objects: StaticManifests) => Objects;
  readonly files: Files;
  readonly measures: ReloadMeasures;
  readonly record: FileRecord;
  readonly clock: Clock;
  readonly log: Log;
}

/** Some small files. Whoever changes one waits for it to be read, and not for much longer than that. */
const pollMs = 1_000;

/**
 * The objects of the files of a directory, now and after each change of it. The first ones must be without fault, or a
 * ConfigurationError is thrown; later ones are in force as a whole, or refused and reported.
 */
export async function followStaticManifests<Objects>(
  options: StaticManifestsOptions<Objects>,
  scope: Scope,
): Promise<() => Objects> {
  const { directory, build, resources, files, measures, record, clock, log } = options;
  const first = await readManifestFiles(directory, files);
  let current = build(await readStaticManifests(first, resources));
  const applied = (content: readonly ManifestFile[]): void => {
    measures.inService(bytesOf(content));
    record.applied(bytesOf(content));
    measures.reloaded('success');
  };
  applied(first);
  const stop = follow(
    {
      clock,
      pollMs,
      read: () => readManifestFiles(directory, files),
      same: (one, other) => isDeepStrictEqual(one, other),
      use: async (next) => {
        current = build(await readStaticManifests(next, resources));
        applied(next);
        log.info('static admission manifests reloaded', { directory });
      },
      failed: (error) => {
        measures.reloaded('failure');
        record.failed(error);
        log.error('static admission manifests cannot be used; keeping the previous ones', {
          directory,
          error: asError(error),
        });
      },
    },
    first,
  );
  scope.onClose(`static manifests of ${directory}`, stop);
  return () => current;
}

/** For their hash, which kube-apiserver makes of the same bytes. */
const bytesOf = (files: readonly ManifestFile[]): Buffer =>
  Buffer.from(files.map(({ text }) => (text === '' ? '' : `${text}\0`)).join(''));
