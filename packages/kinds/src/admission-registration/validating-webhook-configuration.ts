import { defineKind, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, withNumber, type ValueOf } from '@cluster-apiserver/model/schema';
import { admissionKind, publicationOfPart, validateChangesOf } from './admission-registration.ts';
import { countingChangesOf } from '../counting-changes.ts';
import {
  matchConditionsField,
  webhookColumns,
  webhookFields,
  webhookRequired,
  validateWebhooks,
  withWebhookDefaults,
} from './webhook.ts';

const webhook = object(
  {
    ...webhookFields,
    objectSelector: withNumber(10, webhookFields.objectSelector),
    matchConditions: withNumber(11, matchConditionsField),
  },
  {
    publication: publicationOfPart('ValidatingWebhook', 'A webhook that accepts or rejects requests.', webhookRequired),
  },
);

const fields = {
  webhooks: field(2, list(webhook, { keys: ['name'] }), 'Webhooks and the operations that they are called for.'),
};

export type ValidatingWebhook = ValueOf<typeof webhook>;
export type ValidatingWebhookConfiguration = ObjectOf<typeof fields>;

export const validatingWebhookConfiguration = defineKind({
  ...admissionKind,
  kind: 'ValidatingWebhookConfiguration',
  plural: 'validatingwebhookconfigurations',
  singular: 'validatingwebhookconfiguration',
  qualifiedFinalizers: false,
  metadataChecks: 'object',
  description: 'Webhooks that accept or reject objects without changing them.',
  fields,
  defaults: (written) =>
    written.webhooks ? { ...written, webhooks: written.webhooks.map(withWebhookDefaults) } : written,
  prepare: countingChangesOf('webhooks'),
  validateInSteps: validateChangesOf('webhooks', ({ webhooks = [] }, problems) =>
    validateWebhooks(webhooks, problems.at('webhooks')),
  ),
  columns: webhookColumns,
});
