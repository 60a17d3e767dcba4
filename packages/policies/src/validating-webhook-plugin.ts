import { runTask } from '@cluster-apiserver/base';
import { withInForce } from './in-force.ts';
import type { FollowingPlugin } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';
import { validateByWebhooks } from './webhook/validate.ts';
import { type WebhookPluginOptions, webhookSources } from './webhook/webhook-plugin.ts';

/** Refuses what the webhooks of ValidatingWebhookConfigurations deny. */
export function validatingAdmissionWebhook(options: WebhookPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = webhookSources(options);
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: withInForce(sources, (context, webhooks) => {
      if (webhooks.length === 0) return undefined;
      const request = new PolicyRequest(context, environment);
      const done = runTask(clock, context.call, validateByWebhooks(webhooks, request, options));
      return done instanceof Promise ? done.then(() => undefined) : undefined;
    }),
    close: () => sources.fromApi.close(),
  };
}
