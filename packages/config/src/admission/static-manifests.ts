import path from 'node:path';
import { declareKind } from '../load.ts';
import { string } from '../schema.ts';
import type { WrittenFields } from '../written.ts';

export interface StaticManifestsConfiguration {
  /** A directory; undefined for none. */
  readonly staticManifestsDir: string | undefined;
}

/** Configures a plugin whose objects come from files, too. */
export const staticManifestsKind = (kind: string) =>
  declareKind({
    kind,
    versions: ['v1'],
    description: 'Policies and bindings that come from files.',
    fields: {
      staticManifestsDir: string(
        'Absolute path of a directory. Its files hold policies and bindings whose names end with `.static.k8s.io`.',
      ),
    },
  });

export function readStaticManifests({
  staticManifestsDir: written,
}: WrittenFields<ReturnType<typeof staticManifestsKind>['schema']['properties']>): StaticManifestsConfiguration {
  const directory = written.text() || undefined;
  if (directory !== undefined && !path.isAbsolute(directory))
    written.invalid(directory, 'must be an absolute file path');
  return { staticManifestsDir: directory };
}
