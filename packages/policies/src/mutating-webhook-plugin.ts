import { perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { isAboutPolicies } from './exempt.ts';
import { PolicyRequest } from './request.ts';
import { MutatingWebhooks } from './webhook/mutate.ts';
import { type WebhookPluginOptions, webhooksIn } from './webhook/webhook-plugin.ts';

/** Changes objects as the webhooks of MutatingWebhookConfigurations want them. */
export function mutatingAdmissionWebhook(options: WebhookPluginOptions): AdmissionPlugin {
  const webhooks = webhooksIn(options);
  const mutating = new MutatingWebhooks(options);
  return {
    name: 'MutatingAdmissionWebhook',
    reinvocable: true,
    reinvokedByOwnChanges: true,
    mutate: (context) => {
      const inForce = webhooks();
      if (inForce.length === 0 || isAboutPolicies(context.resource)) return context.object;
      const request = new PolicyRequest(context, options.environment);
      return perform(options.clock, context.call, mutating.mutate(inForce, request));
    },
  };
}
