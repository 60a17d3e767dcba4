import { chain, runTask } from '@cluster-apiserver/base';
import { withActive } from './active.ts';
import type { FollowingPlugin } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';
import { validateByWebhooks } from './webhook/validate.ts';
import { type WebhookPluginOptions, openWebhookSources } from './webhook/webhook-plugin.ts';

/** Calls the webhooks of ValidatingWebhookConfigurations. */
export function createValidatingAdmissionWebhook(options: WebhookPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = openWebhookSources(options);
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: withActive(sources, (context, webhooks) => {
      if (webhooks.length === 0) return undefined;
      const request = new PolicyRequest(context, environment);
      return chain(runTask(clock, context.call, validateByWebhooks(webhooks, request, options)), () => undefined);
    }),
    close: () => sources.fromApi.close(),
  };
}
