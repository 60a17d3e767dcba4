import type { Cached, Resource } from '@cluster-apiserver/registry';
import type { PolicyEnvironment } from '../environment.ts';
import { type CompiledWebhook, compileWebhooks } from './compiled-webhook.ts';
import type { InvokeOptions } from './invoke.ts';

export interface WebhookPluginOptions extends InvokeOptions {
  readonly configurations: Resource;
  readonly environment: PolicyEnvironment;
}

interface Version {
  readonly item: Cached;
  readonly webhooks: readonly CompiledWebhook[];
}

/**
 * The webhooks of all configurations in the order of their names; the same list for as long as nothing changes. Each
 * version of a configuration is compiled once, when a write first meets it.
 */
export function webhooksIn({ configurations, clients }: WebhookPluginOptions): () => readonly CompiledWebhook[] {
  let madeFrom: object | undefined;
  let byKey = new Map<string, Version>();
  let all: readonly CompiledWebhook[] = [];
  return () => {
    const { items } = configurations.collection.view();
    if (items === madeFrom) return all;
    const next = new Map<string, Version>();
    items.visit('', (item) => {
      const known = byKey.get(item.key);
      // What one said before holds until it can be read again.
      if (known && (known.item === item || item.unreadable)) next.set(item.key, known);
      // One that was never read is in force nowhere, and a log line says so.
      else if (!item.unreadable) next.set(item.key, { item, webhooks: compileWebhooks(item.object, clients) });
      return true;
    });
    [madeFrom, byKey] = [items, next];
    all = [...next.values()].flatMap(({ webhooks }) => webhooks);
    return all;
  };
}
