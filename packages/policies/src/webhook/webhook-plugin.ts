import type { SyncTask } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Resource } from '@cluster-apiserver/registry';
import type { PolicyEnvironment } from '../environment.ts';
import { getWebhookSources } from '../applicable-sources.ts';
import { CompiledObjects, followObjects } from '../followed-objects.ts';
import type { Sources } from '../active.ts';
import { compileStaticObjects, type StaticSource } from '../static-objects.ts';
import { type CompiledWebhook, compileWebhooks } from './compiled-webhook.ts';
import type { InvokeOptions } from './invoke-webhook.ts';

/** Options of both webhook plugins. */
export interface WebhookPluginOptions extends InvokeOptions {
  readonly configurations: Resource;
  /** Configurations from static manifests; undefined if none are configured. */
  readonly staticObjects: StaticSource<readonly KubeObject[]> | undefined;
  readonly environment: PolicyEnvironment;
  /** Called for an internal error; compilation is retried. */
  readonly compileFailed: (error: unknown) => void;
}

/** The webhooks of all configurations, sorted by name of the configuration. */
export function openWebhookSources({
  configurations,
  staticObjects,
  clients,
  environment,
  clock,
  compileFailed,
}: WebhookPluginOptions): Sources<CompiledWebhook> {
  const compiled = new CompiledObjects(configurations, (object) => compileWebhooks(object, clients));
  return {
    applicableSources: getWebhookSources,
    fromFiles: compileStaticObjects(staticObjects, (objects) => compileAll(objects, clients), { clock, compileFailed }),
    fromApi: followObjects({
      description: 'webhook configuration',
      kinds: [compiled],
      combine: () => compiled.current.flat(),
      clock,
      compileFailed,
    }),
    matcherOf: (webhook) => webhook,
    environment,
    clock,
  };
}

function* compileAll(
  configurations: readonly KubeObject[],
  clients: WebhookPluginOptions['clients'],
): SyncTask<readonly CompiledWebhook[]> {
  const compiled: CompiledWebhook[] = [];
  for (const configuration of configurations) compiled.push(...(yield* compileWebhooks(configuration, clients)));
  return compiled;
}
