import { runTask } from '@cluster-apiserver/base';
import { withInForce } from './in-force.ts';
import type { FollowingPlugin } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';
import { MutatingWebhooks } from './webhook/mutate.ts';
import { type WebhookPluginOptions, webhookSources } from './webhook/webhook-plugin.ts';

/** Changes objects as the webhooks of MutatingWebhookConfigurations want them. */
export function mutatingAdmissionWebhook(options: WebhookPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = webhookSources(options);
  const mutating = new MutatingWebhooks(options);
  return {
    name: 'MutatingAdmissionWebhook',
    reinvocable: true,
    reinvokedByOwnChanges: true,
    mutate: withInForce(sources, (context, webhooks) => {
      if (webhooks.length === 0) return context.object;
      const request = new PolicyRequest(context, environment);
      return runTask(clock, context.call, mutating.mutate(webhooks, request));
    }),
    close: () => sources.fromApi.close(),
  };
}
