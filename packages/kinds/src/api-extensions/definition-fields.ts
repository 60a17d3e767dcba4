import type { JsonSchema } from '@cluster-apiserver/custom-resources';
import type { ObjectOf } from '@cluster-apiserver/model/kind';
import {
  boolean,
  bytes,
  int32,
  jsonField,
  list,
  object,
  type ObjectSchema,
  string,
  time,
  type ValueOf,
} from '@cluster-apiserver/model/schema';
import { publicationOfPart } from './api-extensions.ts';
import { jsonSchemaProps } from './json-schema-props.ts';

const names = object(
  {
    plural: jsonField(string, 'The name of the resource in paths.', 'always'),
    singular: jsonField(string, 'The name of one object on command lines. Defaults to the kind in lower case.'),
    shortNames: jsonField(list(string, 'atomic'), 'Abbreviations for command lines.'),
    kind: jsonField(string, 'The kind of the objects.', 'always'),
    listKind: jsonField(string, 'The kind of lists of them. Defaults to the kind and `List`.'),
    categories: jsonField(list(string, 'atomic'), 'Groups of resources that it belongs to, such as `all`.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionNames', 'The names of the kind.', ['plural', 'kind']),
  },
);

const column = object(
  {
    name: jsonField(string, 'The heading.', 'always'),
    type: jsonField(string, 'boolean, date, integer, number or string.', 'always'),
    format: jsonField(string, 'The format of the cells.'),
    description: jsonField(string, 'What the cells mean.'),
    priority: jsonField(int32, 'Above 0, the column is only shown in wide tables.'),
    jsonPath: jsonField(string, 'Where the value of the cell is in the object.', 'always'),
  },
  {
    publication: publicationOfPart('CustomResourceColumnDefinition', 'A column of the table.', [
      'name',
      'type',
      'jsonPath',
    ]),
  },
);

const scale = object(
  {
    specReplicasPath: jsonField(string, 'Where the wanted number of replicas is.', 'always'),
    statusReplicasPath: jsonField(string, 'Where the present number of replicas is.', 'always'),
    labelSelectorPath: jsonField(string, 'Where the selector of the replicas is.', 'given'),
  },
  {
    publication: publicationOfPart('CustomResourceSubresourceScale', 'How objects are scaled.', [
      'specReplicasPath',
      'statusReplicasPath',
    ]),
  },
);

const status = object(
  {},
  { publication: publicationOfPart('CustomResourceSubresourceStatus', 'The status has a path of its own.') },
);

const subresources = object(
  {
    status: jsonField(status, 'The status is written through a path of its own.', 'given'),
    scale: jsonField(scale, 'Objects are scaled through a path of its own.', 'given'),
  },
  { publication: publicationOfPart('CustomResourceSubresources', 'Paths below that of an object.') },
);

const selectableField = object(
  { jsonPath: jsonField(string, 'Where the value is in the object.', 'always') },
  { publication: publicationOfPart('SelectableField', 'A field that field selectors may name.', ['jsonPath']) },
);

const validation = object(
  {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the values of a schema that contains itself have no inferred type
    openAPIV3Schema: jsonField(jsonSchemaProps as ObjectSchema<JsonSchema>, 'The schema of the objects.', 'given'),
  },
  { publication: publicationOfPart('CustomResourceValidation', 'The schema of a version.') },
);

const version = object(
  {
    name: jsonField(string, 'The name of the version, such as v1.', 'always'),
    served: jsonField(boolean, 'Whether clients see it.', 'always'),
    storage: jsonField(boolean, 'Whether objects are stored in it. Exactly one version is.', 'always'),
    deprecated: jsonField(boolean, 'Whether each request draws a warning.'),
    deprecationWarning: jsonField(string, 'The text of the warning.', 'given'),
    schema: jsonField(validation, 'The schema of the objects.', 'given'),
    subresources: jsonField(subresources, 'Paths below that of an object.', 'given'),
    additionalPrinterColumns: jsonField(list(column, 'atomic'), 'Columns of the table.'),
    selectableFields: jsonField(list(selectableField, 'atomic'), 'Fields that field selectors may name.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionVersion', 'A version of the kind.', [
      'name',
      'served',
      'storage',
    ]),
  },
);

const serviceReference = object(
  {
    namespace: jsonField(string, 'Namespace of the service.', 'always'),
    name: jsonField(string, 'Name of the service.', 'always'),
    path: jsonField(string, 'URL path of the requests.', 'given'),
    port: jsonField(int32, 'Port of the service. Defaults to 443.', 'given'),
  },
  {
    publication: publicationOfPart('ServiceReference', 'A service that webhook requests are sent to.', [
      'namespace',
      'name',
    ]),
  },
);

const clientConfig = object(
  {
    url: jsonField(string, 'HTTPS URL of the webhook. Either this or service is set.', 'given'),
    service: jsonField(serviceReference, 'Service of the webhook. Either this or url is set.', 'given'),
    caBundle: jsonField(bytes, 'CA bundle in PEM to verify the certificate of the webhook with.'),
  },
  { publication: publicationOfPart('WebhookClientConfig', 'How to call a webhook.') },
);

const webhookConversion = object(
  {
    clientConfig: jsonField(clientConfig, 'How to call the webhook.', 'given'),
    conversionReviewVersions: jsonField(
      list(string, 'atomic'),
      'The versions of ConversionReview that the webhook understands.',
      'nullIfEmpty',
    ),
  },
  {
    publication: publicationOfPart('WebhookConversion', 'A webhook that converts objects.', [
      'conversionReviewVersions',
    ]),
  },
);

const conversion = object(
  {
    strategy: jsonField(string, 'None or Webhook.', 'always'),
    webhook: jsonField(webhookConversion, 'The webhook of the strategy Webhook.', 'given'),
  },
  {
    publication: publicationOfPart('CustomResourceConversion', 'How objects are converted between versions.', [
      'strategy',
    ]),
  },
);

const spec = object(
  {
    group: jsonField(string, 'The API group of the kind.', 'always'),
    names: jsonField(names, 'The names of the kind.', 'always'),
    scope: jsonField(string, 'Cluster or Namespaced.', 'always'),
    versions: jsonField(list(version, 'atomic'), 'The versions of the kind.', 'given'),
    conversion: jsonField(conversion, 'How objects are converted between the versions.', 'given'),
    preserveUnknownFields: jsonField(boolean, 'Refused if true.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionSpec', 'What the kind is.', [
      'group',
      'names',
      'scope',
      'versions',
    ]),
  },
);

const condition = object(
  {
    type: jsonField(string, 'What it is about, such as Established.', 'always'),
    status: jsonField(string, 'True, False or Unknown.', 'always'),
    lastTransitionTime: jsonField(time, 'When the status last changed.', 'always'),
    reason: jsonField(string, 'Why, in one word.'),
    message: jsonField(string, 'Why, for people.'),
    observedGeneration: jsonField(int32, 'The generation that it was made from.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionCondition', 'A fact about the kind.', ['type', 'status']),
  },
);

const statusSchema = object(
  {
    conditions: jsonField(
      list(condition, { keys: ['type'], isReplacedByPatch: true }),
      'Facts about the kind.',
      'nullIfEmpty',
    ),
    acceptedNames: jsonField(names, 'The names in use, which may differ from the wanted ones.', 'always'),
    storedVersions: jsonField(
      list(string, 'atomic'),
      'The versions in which objects have ever been stored.',
      'nullIfEmpty',
    ),
    observedGeneration: jsonField(int32, 'The generation that the status was made from.'),
  },
  { publication: publicationOfPart('CustomResourceDefinitionStatus', 'What became of the kind.') },
);

export const fields = {
  spec: jsonField(spec, 'What the kind is.', 'always'),
  status: jsonField(statusSchema, 'What became of the kind.', 'always'),
};

export type CustomResourceDefinition = ObjectOf<typeof fields>;
export type DefinitionSpec = ValueOf<typeof spec>;
export type DefinitionVersion = ValueOf<typeof version>;
export type DefinitionCondition = ValueOf<typeof condition>;
export type DefinitionNames = ValueOf<typeof names>;
export type DefinitionColumn = ValueOf<typeof column>;
export type Subresources = ValueOf<typeof subresources>;
export type Conversion = ValueOf<typeof conversion>;
