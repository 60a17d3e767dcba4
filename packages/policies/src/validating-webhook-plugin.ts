import { perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { isAboutPolicies } from './exempt.ts';
import { PolicyRequest } from './request.ts';
import { validateByWebhooks } from './webhook/validate.ts';
import { type WebhookPluginOptions, webhooksIn } from './webhook/webhook-plugin.ts';

/** Refuses what the webhooks of ValidatingWebhookConfigurations deny. */
export function validatingAdmissionWebhook(options: WebhookPluginOptions): AdmissionPlugin {
  const webhooks = webhooksIn(options);
  return {
    name: 'ValidatingAdmissionWebhook',
    validate: (context) => {
      const inForce = webhooks();
      if (inForce.length === 0 || isAboutPolicies(context.resource)) return undefined;
      const request = new PolicyRequest(context, options.environment);
      const done = perform(options.clock, context.call, validateByWebhooks(inForce, request, options));
      return done instanceof Promise ? done.then(() => undefined) : undefined;
    },
  };
}
