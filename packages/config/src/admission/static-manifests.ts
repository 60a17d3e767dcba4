import path from 'node:path';
import { defineConfigurationKind } from '../load.ts';
import { checkedString, optional } from '../schema.ts';

export interface StaticManifestsConfiguration {
  /** A directory; undefined for none. */
  readonly staticManifestsDir: string | undefined;
}

const directory = checkedString((value, at) => {
  if (value !== '' && !path.isAbsolute(value)) at.invalid(value, 'must be an absolute file path');
});

/** Declares the configuration of a plugin that also loads policies from static manifests. */
const staticManifestsKind = (kind: string) =>
  defineConfigurationKind({
    kind,
    versions: ['v1'],
    description: 'Policies and bindings that come from files.',
    fields: {
      staticManifestsDir: optional(
        directory,
        'Absolute path of a directory. Its files hold policies and bindings whose names end with `.static.k8s.io`.',
      ),
    },
  });
export const mutatingPolicyKind = staticManifestsKind('MutatingAdmissionPolicyConfiguration');
export const validatingPolicyKind = staticManifestsKind('ValidatingAdmissionPolicyConfiguration');

/** Configures a plugin that calls webhooks. Its kubeconfig is refused: this server sends no credentials to webhooks. */
export const webhookAdmissionKind = defineConfigurationKind({
  kind: 'WebhookAdmissionConfiguration',
  versions: ['v1'],
  description: 'Webhook configurations that come from files.',
  fields: {
    kubeConfigFile: optional(
      checkedString((value, at) => {
        if (value !== '') at.forbidden('no credentials are sent to admission webhooks');
      }),
      'Not supported: no credentials are sent to admission webhooks.',
    ),
    staticManifestsDir: optional(
      directory,
      'Absolute path of a directory. Its files hold webhook configurations whose names end with `.static.k8s.io`.',
    ),
  },
});

export const readStaticManifests = ({
  staticManifestsDir,
}: {
  readonly staticManifestsDir?: string;
}): StaticManifestsConfiguration => ({ staticManifestsDir: staticManifestsDir || undefined });
