import { chain, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Resource } from '@cluster-apiserver/registry';
import type { ClusterState } from '../cluster-state.ts';
import { getWebhookSources } from '../applicable-sources.ts';
import { CompiledObjects, FollowedObjects } from '../followed-objects.ts';
import { type Sources, withActive } from '../active.ts';
import type { FollowingPlugin } from '../policy-sources.ts';
import { PolicyRequest } from '../request.ts';
import { compileStaticObjects, type StaticSource } from '../static-objects.ts';
import { type CompiledWebhook, compileWebhooks } from './compiled-webhook.ts';
import type { InvokeOptions } from './invoke-webhook.ts';
import { MutatingWebhooks } from './mutate.ts';
import { validateByWebhooks } from './validate.ts';

/** Options of both webhook plugins. */
export interface WebhookPluginOptions extends InvokeOptions {
  readonly configurations: Resource;
  /** Configurations from static manifests; undefined if none are configured. */
  readonly staticObjects: StaticSource<readonly KubeObject[]> | undefined;
  readonly cluster: ClusterState;
  /** Called for an internal error; compilation is retried. */
  readonly compileFailed: (error: unknown) => void;
}

/** Calls the webhooks of MutatingWebhookConfigurations. */
export function createMutatingAdmissionWebhook(options: WebhookPluginOptions): FollowingPlugin {
  const { cluster, clock } = options;
  const sources = openWebhookSources(options);
  const mutating = new MutatingWebhooks(options);
  return {
    name: 'MutatingAdmissionWebhook',
    reinvocable: true,
    reinvokedByOwnChanges: true,
    mutate: withActive(sources, (context, webhooks, all) => {
      if (webhooks.length === 0) return context.object;
      const request = new PolicyRequest(context, cluster);
      return runTask(clock, context.call, mutating.mutate(webhooks, all, request));
    }),
    close: () => sources.fromApi.close(),
  };
}

/** Calls the webhooks of ValidatingWebhookConfigurations. */
export function createValidatingAdmissionWebhook(options: WebhookPluginOptions): FollowingPlugin {
  const { cluster, clock } = options;
  const sources = openWebhookSources(options);
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: withActive(sources, (context, webhooks) => {
      if (webhooks.length === 0) return undefined;
      const request = new PolicyRequest(context, cluster);
      return chain(runTask(clock, context.call, validateByWebhooks(webhooks, request, options)), () => undefined);
    }),
    close: () => sources.fromApi.close(),
  };
}

/** The webhooks of all configurations, sorted by name of the configuration. */
function openWebhookSources({
  configurations,
  staticObjects,
  clients,
  cluster,
  clock,
  compileFailed,
}: WebhookPluginOptions): Sources<CompiledWebhook> {
  const compiled = new CompiledObjects(configurations, (object) => compileWebhooks(object, clients));
  return {
    applicableSources: getWebhookSources,
    fromFiles: compileStaticObjects(staticObjects, (objects) => compileAll(objects, clients), { clock, compileFailed }),
    fromApi: new FollowedObjects({
      description: 'webhook configuration',
      kinds: [compiled],
      combine: () => compiled.current.flat(),
      clock,
      compileFailed,
    }),
    matcherOf: (webhook) => webhook,
    cluster,
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
