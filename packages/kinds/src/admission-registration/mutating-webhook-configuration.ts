import { defineKind, field, list, object, publicationOf, string } from '@cluster-apiserver/model';
import { admissionKind, admissionRegistration, countingChangesOf } from './admission-registration.ts';
import { reinvocationPolicyErrors } from './reinvocation-policy.ts';
import {
  matchConditions,
  type Webhook,
  webhookColumns,
  type WebhookConfiguration,
  webhookFields,
  webhookRequired,
  webhooksErrors,
  withWebhookDefaults,
} from './webhook.ts';

export interface MutatingWebhook extends Webhook {
  reinvocationPolicy?: string;
}
export type MutatingWebhookConfiguration = WebhookConfiguration<MutatingWebhook>;

const webhook = object(
  {
    ...webhookFields,
    reinvocationPolicy: field(
      string,
      'Never: the webhook is called once per request. IfNeeded: it is called again if the object was changed after its call. Defaults to Never.',
      'given',
    ),
    matchConditions,
  },
  {
    numbers: {
      name: 1,
      clientConfig: 2,
      rules: 3,
      failurePolicy: 4,
      namespaceSelector: 5,
      sideEffects: 6,
      timeoutSeconds: 7,
      admissionReviewVersions: 8,
      matchPolicy: 9,
      reinvocationPolicy: 10,
      objectSelector: 11,
      matchConditions: 12,
    },
    publication: publicationOf(
      { ...admissionRegistration, kind: 'MutatingWebhook' },
      'A webhook that accepts or rejects requests and may change their objects.',
      webhookRequired,
    ),
  },
);

export const mutatingWebhookConfiguration = defineKind<MutatingWebhookConfiguration>({
  ...admissionKind,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  singular: 'mutatingwebhookconfiguration',
  description: 'Webhooks that accept or reject objects and may change them.',
  fields: {
    webhooks: field(list(webhook, { key: 'name' }), 'Webhooks and the operations that they are called for.'),
  },
  numbers: { webhooks: 2 },
  defaults: (object) => (object.webhooks ? { ...object, webhooks: object.webhooks.map(withDefaults) } : object),
  prepare: countingChangesOf('webhooks'),
  validateInSteps: ({ webhooks = [] }) =>
    webhooksErrors(webhooks, (at, { reinvocationPolicy }) =>
      reinvocationPolicy === undefined ? [] : reinvocationPolicyErrors(`${at}.reinvocationPolicy`, reinvocationPolicy),
    ),
  columns: webhookColumns,
});

const withDefaults = (webhook: MutatingWebhook): MutatingWebhook => ({
  ...withWebhookDefaults(webhook),
  reinvocationPolicy: webhook.reinvocationPolicy ?? 'Never',
});
