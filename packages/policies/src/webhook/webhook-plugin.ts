import type { Resource } from '@cluster-apiserver/registry';
import { CompiledObjects } from '../policy-set.ts';
import type { Surroundings } from '../request.ts';
import { type CompiledWebhook, compileWebhooks } from './compiled-webhook.ts';
import type { InvokeOptions } from './invoke.ts';

export interface WebhookPluginOptions extends InvokeOptions {
  readonly configurations: Resource;
  readonly surroundings: Surroundings;
}

/** The webhooks of all configurations in the order of their names; the same list for as long as nothing changes. */
export function webhooksIn({ configurations, clients }: WebhookPluginOptions): () => readonly CompiledWebhook[] {
  const compiled = new CompiledObjects(configurations, (object) => compileWebhooks(object, clients));
  let madeFrom: object | undefined;
  let webhooks: readonly CompiledWebhook[] = [];
  return () => {
    const { all } = compiled;
    if (all !== madeFrom) [madeFrom, webhooks] = [all, all.flat()];
    return webhooks;
  };
}
