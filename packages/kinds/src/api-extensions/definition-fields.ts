import type { JsonSchema } from '@cluster-apiserver/custom-resources';
import type { ObjectOf } from '@cluster-apiserver/model/kind';
import {
  boolean,
  int32,
  int64,
  field,
  list,
  object,
  type ObjectSchema,
  string,
  time,
  type ValueOf,
} from '@cluster-apiserver/model/schema';
import { clientConfigOf } from '../admission-registration/client-config.ts';
import { publicationOfPart } from './api-extensions.ts';
import { jsonSchemaProps } from './json-schema-props.ts';

const names = object(
  {
    plural: field(1, string, 'The name of the resource in paths.', 'always'),
    singular: field(2, string, 'The name of one object on command lines. Defaults to the kind in lower case.'),
    shortNames: field(3, list(string, 'atomic'), 'Abbreviations for command lines.'),
    kind: field(4, string, 'The kind of the objects.', 'always'),
    listKind: field(5, string, 'The kind of lists of them. Defaults to the kind and `List`.'),
    categories: field(6, list(string, 'atomic'), 'Groups of resources that it belongs to, such as `all`.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionNames', 'The names of the kind.', ['plural', 'kind']),
  },
);

const column = object(
  {
    name: field(1, string, 'The heading.', 'always'),
    type: field(2, string, 'boolean, date, integer, number or string.', 'always'),
    format: field(3, string, 'The format of the cells.'),
    description: field(4, string, 'Meaning of the cells.'),
    priority: field(5, int32, 'Above 0, the column is only shown in wide tables.'),
    jsonPath: field(6, string, 'JSON path of the value of the cell in the object.', 'always'),
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
    specReplicasPath: field(1, string, 'JSON path of the desired number of replicas.', 'always'),
    statusReplicasPath: field(2, string, 'JSON path of the current number of replicas.', 'always'),
    labelSelectorPath: field(3, string, 'JSON path of the selector of the replicas.', 'given'),
  },
  {
    publication: publicationOfPart('CustomResourceSubresourceScale', 'Fields through which objects are scaled.', [
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
    status: field(1, status, 'The status is written through a path of its own.', 'given'),
    scale: field(2, scale, 'Objects are scaled through a path of its own.', 'given'),
  },
  { publication: publicationOfPart('CustomResourceSubresources', 'Paths below that of an object.') },
);

const selectableField = object(
  { jsonPath: field(1, string, 'JSON path of the value in the object.', 'always') },
  { publication: publicationOfPart('SelectableField', 'A field that field selectors may name.', ['jsonPath']) },
);

const validation = object(
  {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the values of a schema that contains itself have no inferred type
    openAPIV3Schema: field(1, jsonSchemaProps as ObjectSchema<JsonSchema>, 'The schema of the objects.', 'given'),
  },
  { publication: publicationOfPart('CustomResourceValidation', 'The schema of a version.') },
);

const version = object(
  {
    name: field(1, string, 'The name of the version, such as v1.', 'always'),
    served: field(2, boolean, 'Whether clients see it.', 'always'),
    storage: field(3, boolean, 'Whether objects are stored in it. Exactly one version is.', 'always'),
    deprecated: field(7, boolean, 'Whether each request draws a warning.'),
    deprecationWarning: field(8, string, 'The text of the warning.', 'given'),
    schema: field(4, validation, 'The schema of the objects.', 'given'),
    subresources: field(5, subresources, 'Paths below that of an object.', 'given'),
    additionalPrinterColumns: field(6, list(column, 'atomic'), 'Columns of the table.'),
    selectableFields: field(9, list(selectableField, 'atomic'), 'Fields that field selectors may name.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionVersion', 'A version of the kind.', [
      'name',
      'served',
      'storage',
    ]),
  },
);

const webhookConversion = object(
  {
    clientConfig: field(
      2,
      clientConfigOf(publicationOfPart),
      'Address of the webhook, and the certificates to trust.',
      'given',
    ),
    conversionReviewVersions: field(
      3,
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
    strategy: field(1, string, 'None or Webhook.', 'always'),
    webhook: field(2, webhookConversion, 'The webhook of the strategy Webhook.', 'given'),
  },
  {
    publication: publicationOfPart('CustomResourceConversion', 'Conversion of objects between versions.', ['strategy']),
  },
);

const spec = object(
  {
    group: field(1, string, 'The API group of the kind.', 'always'),
    names: field(3, names, 'The names of the kind.', 'always'),
    scope: field(4, string, 'Cluster or Namespaced.', 'always'),
    versions: field(7, list(version, 'atomic'), 'The versions of the kind.', 'given'),
    conversion: field(9, conversion, 'Conversion of objects between the versions.', 'given'),
    preserveUnknownFields: field(10, boolean, 'Refused if true.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionSpec', 'Definition of the kind.', [
      'group',
      'names',
      'scope',
      'versions',
    ]),
  },
);

const condition = object(
  {
    type: field(1, string, 'Subject of the condition, such as Established.', 'always'),
    status: field(2, string, 'True, False or Unknown.', 'always'),
    lastTransitionTime: field(3, time, 'Time of the last change of the status.', 'always'),
    reason: field(4, string, 'Why, in one word.'),
    message: field(5, string, 'Why, for people.'),
    observedGeneration: field(6, int64, 'The generation that it was made from.'),
  },
  {
    publication: publicationOfPart('CustomResourceDefinitionCondition', 'A fact about the kind.', ['type', 'status']),
  },
);

const statusSchema = object(
  {
    conditions: field(
      1,
      list(condition, { keys: ['type'], isReplacedByPatch: true }),
      'Facts about the kind.',
      'nullIfEmpty',
    ),
    acceptedNames: field(2, names, 'The names in use, which may differ from the wanted ones.', 'always'),
    storedVersions: field(
      3,
      list(string, 'atomic'),
      'The versions in which objects have ever been stored.',
      'nullIfEmpty',
    ),
    observedGeneration: field(4, int64, 'The generation that the status was made from.'),
  },
  { publication: publicationOfPart('CustomResourceDefinitionStatus', 'State of the kind.') },
);

export const fields = {
  spec: field(2, spec, 'Definition of the kind.', 'always'),
  status: field(3, statusSchema, 'State of the kind.', 'always'),
};

export type CustomResourceDefinition = ObjectOf<typeof fields>;
export type DefinitionSpec = ValueOf<typeof spec>;
export type DefinitionVersion = ValueOf<typeof version>;
export type DefinitionCondition = ValueOf<typeof condition>;
export type DefinitionNames = ValueOf<typeof names>;
export type DefinitionColumn = ValueOf<typeof column>;
export type Subresources = ValueOf<typeof subresources>;
export type Conversion = ValueOf<typeof conversion>;
