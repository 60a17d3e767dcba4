import path from 'node:path';
import { declareKind } from '../load.ts';
import { string } from '../schema.ts';
import type { Written, WrittenFields } from '../written.ts';

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

/** Configures a plugin that calls webhooks. Its kubeconfig would hold credentials, which are sent to no webhook here. */
export const webhookAdmissionKind = declareKind({
  kind: 'WebhookAdmissionConfiguration',
  versions: ['v1'],
  description: 'Webhook configurations that come from files.',
  fields: {
    kubeConfigFile: string('Not supported: no credentials are sent to admission webhooks.'),
    staticManifestsDir: string(
      'Absolute path of a directory. Its files hold webhook configurations whose names end with `.static.k8s.io`.',
    ),
  },
});

export const readStaticManifests = ({
  staticManifestsDir,
}: WrittenFields<ReturnType<typeof staticManifestsKind>['schema']['properties']>): StaticManifestsConfiguration => ({
  staticManifestsDir: readDirectory(staticManifestsDir),
});

export function readWebhookAdmission({
  kubeConfigFile,
  staticManifestsDir,
}: WrittenFields<(typeof webhookAdmissionKind)['schema']['properties']>): StaticManifestsConfiguration {
  if (kubeConfigFile.text()) kubeConfigFile.wrong('Forbidden: no credentials are sent to admission webhooks');
  return { staticManifestsDir: readDirectory(staticManifestsDir) };
}

function readDirectory(written: Written): string | undefined {
  const directory = written.text() || undefined;
  if (directory !== undefined && !path.isAbsolute(directory))
    written.invalid(directory, 'must be an absolute file path');
  return directory;
}
