import path from 'node:path';
import type { ConfigurationKind } from '../load.ts';
import type { Written } from '../written.ts';

export interface StaticManifestsConfiguration {
  /** A directory; undefined for none. */
  readonly staticManifestsDir: string | undefined;
}

/** Configures a plugin whose objects come from files, too. */
export const staticManifestsKind = (kind: string): ConfigurationKind<StaticManifestsConfiguration> => ({
  kind,
  versions: ['v1'],
  fields: ['staticManifestsDir'],
  read: ({ staticManifestsDir }) => ({ staticManifestsDir: readDirectory(staticManifestsDir as Written) }),
});

/** Configures a plugin that calls webhooks. Its kubeconfig would hold credentials, which are sent to no webhook here. */
export const webhookAdmissionKind: ConfigurationKind<StaticManifestsConfiguration> = {
  kind: 'WebhookAdmissionConfiguration',
  versions: ['v1'],
  fields: ['kubeConfigFile', 'staticManifestsDir'],
  read: ({ kubeConfigFile, staticManifestsDir }) => {
    if (kubeConfigFile?.text()) kubeConfigFile.wrong('Forbidden: no credentials are sent to admission webhooks');
    return { staticManifestsDir: readDirectory(staticManifestsDir as Written) };
  },
};

function readDirectory(written: Written): string | undefined {
  const directory = written.text() || undefined;
  if (directory !== undefined && !path.isAbsolute(directory))
    written.invalid(directory, 'must be an absolute file path');
  return directory;
}
