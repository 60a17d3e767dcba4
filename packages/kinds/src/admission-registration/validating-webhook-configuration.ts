import { defineKind, field, list, object, publicationOf } from '@cluster-apiserver/model';
import { admissionKind, admissionRegistration, countingChangesOf } from './admission-registration.ts';
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

export type ValidatingWebhook = Webhook;
export type ValidatingWebhookConfiguration = WebhookConfiguration<ValidatingWebhook>;

const webhook = object(
  { ...webhookFields, matchConditions },
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
      objectSelector: 10,
      matchConditions: 11,
    },
    publication: publicationOf(
      { ...admissionRegistration, kind: 'ValidatingWebhook' },
      'A webhook that accepts or rejects requests.',
      webhookRequired,
    ),
  },
);

export const validatingWebhookConfiguration = defineKind<ValidatingWebhookConfiguration>({
  ...admissionKind,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  singular: 'validatingwebhookconfiguration',
  description: 'Webhooks that accept or reject objects without changing them.',
  fields: {
    webhooks: field(list(webhook, { key: 'name' }), 'Webhooks and the operations that they are called for.'),
  },
  numbers: { webhooks: 2 },
  defaults: (object) => (object.webhooks ? { ...object, webhooks: object.webhooks.map(withWebhookDefaults) } : object),
  prepare: countingChangesOf('webhooks'),
  validateInSteps: ({ webhooks = [] }) => webhooksErrors(webhooks),
  columns: webhookColumns,
});
