import { runTask } from '@cluster-apiserver/base';
import { withActive } from './active.ts';
import type { FollowingPlugin } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';
import { MutatingWebhooks } from './webhook/mutate.ts';
import { type WebhookPluginOptions, openWebhookSources } from './webhook/webhook-plugin.ts';

/** Calls the webhooks of MutatingWebhookConfigurations. */
export function createMutatingAdmissionWebhook(options: WebhookPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = openWebhookSources(options);
  const mutating = new MutatingWebhooks(options);
  return {
    name: 'MutatingAdmissionWebhook',
    reinvocable: true,
    reinvokedByOwnChanges: true,
    mutate: withActive(sources, (context, webhooks, all) => {
      if (webhooks.length === 0) return context.object;
      const request = new PolicyRequest(context, environment);
      return runTask(clock, context.call, mutating.mutate(webhooks, all, request));
    }),
    close: () => sources.fromApi.close(),
  };
}
