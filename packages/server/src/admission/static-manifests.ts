import type { CleanupStack } from '@cluster-apiserver/base';
import type { AdmissionConfiguration } from '@cluster-apiserver/config';
import type { AdmissionPluginName } from '@cluster-apiserver/gates';
import type { StaticSource } from '@cluster-apiserver/policies';
import type { Resource } from '@cluster-apiserver/registry';
import type { Files } from '../environment.ts';
import { type FileObservers, followFiles } from '../files/follow-files.ts';
import { createReloadMeasures, type ReloadIdentity } from '../files/reload-measures.ts';
import {
  type ManifestFile,
  readManifestFiles,
  loadStaticManifests,
  type StaticManifests,
} from './read-static-manifests.ts';

/** It names the file that names the directory. */
const flag = 'admission-control-config-file';

type ManifestPlugin = AdmissionPluginName & keyof AdmissionConfiguration;

/**
 * Opens the static manifests of a plugin; undefined if none are configured. All manifests of the directory are applied
 * together. Throws a ConfigurationError if the first ones are invalid.
 */
export type OpenManifests = <Objects>(
  plugin: ManifestPlugin,
  resources: readonly Resource[],
  build: (objects: StaticManifests) => Objects,
) => Promise<StaticSource<Objects> | undefined>;

export function createManifestOpener(
  configuration: AdmissionConfiguration,
  context: FileObservers & ReloadIdentity & { readonly environment: { readonly files: Files } },
  cleanup: CleanupStack,
): OpenManifests {
  const measuresOf = createReloadMeasures(
    {
      prefix: 'apiserver_manifest_admission_config_controller',
      what: 'static admission manifests',
      labels: ['plugin'],
    },
    context,
  );
  return async (plugin, resources, build) => {
    const configured = configuration[plugin];
    if (!configured || !('staticManifestsDir' in configured)) return undefined;
    const { staticManifestsDir: directory } = configured;
    if (directory === undefined) return undefined;
    const measures = measuresOf({ plugin });
    const kind = `static manifests of ${plugin}`;
    const followed = await followFiles(
      {
        name: kind,
        files: [{ flag, kind, path: directory }],
        read: () => readManifestFiles(directory, context.environment.files),
        bytesOf: (files) => [toHashedBytes(files)],
        build: async (files) => build(await loadStaticManifests(files, resources)),
        measures,
      },
      context,
    );
    cleanup.defer(kind, followed.close);
    // As in kube-apiserver, the first load counts.
    measures.reloaded('success');
    return {
      get current() {
        return followed.current();
      },
      onChange: followed.onChange,
    };
  };
}

/** The bytes that kube-apiserver hashes, too. */
const toHashedBytes = (files: readonly ManifestFile[]): Buffer =>
  Buffer.from(files.map(({ text }) => (text === '' ? '' : `${text}\0`)).join(''));
