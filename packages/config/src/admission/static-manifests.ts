import path from 'node:path';
import { declareKind } from '../load.ts';
import { string } from '../schema.ts';
import type { ConfigNode, ConfigNodeFields } from '../config-node.ts';

export interface StaticManifestsConfiguration {
  /** A directory; undefined for none. */
  readonly staticManifestsDir: string | undefined;
}

/** Declares the configuration of a plugin that also loads policies from static manifests. */
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

/** Configures a plugin that calls webhooks. Its kubeconfig is refused: this server sends no credentials to webhooks. */
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
}: ConfigNodeFields<ReturnType<typeof staticManifestsKind>['schema']['properties']>): StaticManifestsConfiguration => ({
  staticManifestsDir: readDirectory(staticManifestsDir),
});

export function readWebhookAdmission({
  kubeConfigFile,
  staticManifestsDir,
}: ConfigNodeFields<(typeof webhookAdmissionKind)['schema']['properties']>): StaticManifestsConfiguration {
  if (kubeConfigFile.string()) kubeConfigFile.addProblem('Forbidden: no credentials are sent to admission webhooks');
  return { staticManifestsDir: readDirectory(staticManifestsDir) };
}

function readDirectory(node: ConfigNode): string | undefined {
  const directory = node.string() || undefined;
  if (directory !== undefined && !path.isAbsolute(directory))
    node.addInvalid(directory, 'must be an absolute file path');
  return directory;
}
