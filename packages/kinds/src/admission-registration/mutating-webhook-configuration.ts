import { defineKind, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, string, withNumber, type ValueOf } from '@cluster-apiserver/model/schema';
import { admissionKind, publicationOfPart, validateChangesOf } from './admission-registration.ts';
import { countingChangesOf } from '../counting-changes.ts';
import { reinvocationPolicies } from './choices.ts';
import {
  matchConditionsField,
  webhookColumns,
  webhookFields,
  webhookRequired,
  validateWebhooks,
  withWebhookDefaults,
} from './webhook.ts';

const webhookSchema = object(
  {
    ...webhookFields,
    objectSelector: withNumber(11, webhookFields.objectSelector),
    reinvocationPolicy: field(
      10,
      string,
      'Never: the webhook is called once per request. IfNeeded: it is called again if the object was changed after its call. Defaults to Never.',
      'given',
    ),
    matchConditions: withNumber(12, matchConditionsField),
  },
  {
    publication: publicationOfPart(
      'MutatingWebhook',
      'A webhook that accepts or rejects requests and may change their objects.',
      webhookRequired,
    ),
  },
);

const fields = {
  webhooks: field(2, list(webhookSchema, { keys: ['name'] }), 'Webhooks and the operations that they are called for.'),
};

export type MutatingWebhook = ValueOf<typeof webhookSchema>;
export type MutatingWebhookConfiguration = ObjectOf<typeof fields>;

export const mutatingWebhookConfiguration = defineKind({
  ...admissionKind,
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  singular: 'mutatingwebhookconfiguration',
  qualifiedFinalizers: false,
  metadataChecks: 'object',
  description: 'Webhooks that accept or reject objects and may change them.',
  fields,
  defaults: (written) => (written.webhooks ? { ...written, webhooks: written.webhooks.map(withDefaults) } : written),
  prepare: countingChangesOf('webhooks'),
  validateInSteps: validateChangesOf('webhooks', ({ webhooks = [] }, problems) =>
    validateWebhooks(webhooks, problems.at('webhooks'), ({ reinvocationPolicy }, at) =>
      at.at('reinvocationPolicy').oneOf(reinvocationPolicy, reinvocationPolicies),
    ),
  ),
  columns: webhookColumns,
});

const withDefaults = (webhook: MutatingWebhook): MutatingWebhook => ({
  ...withWebhookDefaults(webhook),
  reinvocationPolicy: webhook.reinvocationPolicy ?? 'Never',
});
