import {
  any,
  boolean,
  double,
  type Field,
  int64,
  field,
  list,
  map,
  object,
  type ObjectSchema,
  type Schema,
  string,
} from '@cluster-apiserver/model/schema';
import { publicationOfPart } from './api-extensions.ts';

const validationRule = object(
  {
    rule: field(1, string, 'The expression in CEL, of the value as `self`, that has to be true.', 'always'),
    message: field(2, string, 'Message if the rule is false.'),
    messageExpression: field(3, string, 'Expression in CEL for the message; takes precedence over `message`.'),
    reason: field(4, string, 'The reason of the error: FieldValueInvalid by default.', 'given'),
    fieldPath: field(5, string, 'The path below the value of the field that the error names.'),
    optionalOldSelf: field(
      6,
      boolean,
      'Whether `oldSelf` is an optional, so that the rule applies to new values, too.',
      'given',
    ),
  },
  { publication: publicationOfPart('ValidationRule', 'A rule for a value.', ['rule']) },
);

const externalDocumentation = object(
  {
    description: field(1, string, 'Content of the document.'),
    url: field(2, string, 'URL of the document.'),
  },
  { publication: publicationOfPart('ExternalDocumentation', 'External document with more information.') },
);

const fieldsOfProps: Map<string, Field> = new Map();

/** Schemas contain schemas. */
export const jsonSchemaProps: ObjectSchema = {
  type: 'object',
  fields: fieldsOfProps,
  atomic: false,
  publication: publicationOfPart('JSONSchemaProps', 'A structural schema.'),
};

const schemas = list(jsonSchemaProps, 'atomic');
const schemasByName = map(jsonSchemaProps);
const schemaOrFlag: Schema = { ...jsonSchemaProps, otherwise: { schema: boolean, number: 1, objectNumber: 2 } };

/** Flags are left out if they are false; numbers that are zero, and empty texts of pointers in Go, stay. */
const declared = {
  id: field(1, string, 'Not used.'),
  $schema: field(2, string, 'Refused.'),
  $ref: field(3, string, 'Refused.', 'given'),
  description: field(4, string, 'Meaning of the value.'),
  type: field(5, string, 'array, boolean, integer, number, object or string.'),
  format: field(6, string, 'The format of a text or a number.'),
  title: field(7, string, 'A name for people.'),
  default: field(8, any, 'The value of a field that is not set.', 'given'),
  maximum: field(9, double, 'The greatest number.', 'given'),
  exclusiveMaximum: field(10, boolean, 'Whether `maximum` itself is excluded.'),
  minimum: field(11, double, 'The least number.', 'given'),
  exclusiveMinimum: field(12, boolean, 'Whether `minimum` itself is excluded.'),
  maxLength: field(13, int64, 'The most characters.', 'given'),
  minLength: field(14, int64, 'The fewest characters.', 'given'),
  pattern: field(15, string, 'A regular expression that matches a part of the text.'),
  maxItems: field(16, int64, 'The most entries.', 'given'),
  minItems: field(17, int64, 'The fewest entries.', 'given'),
  uniqueItems: field(18, boolean, 'Refused if true.'),
  multipleOf: field(19, double, 'The number is a multiple of this one.', 'given'),
  enum: field(20, list(any, 'atomic'), 'All values that are allowed.'),
  maxProperties: field(21, int64, 'The most members.', 'given'),
  minProperties: field(22, int64, 'The fewest members.', 'given'),
  required: field(23, list(string, 'atomic'), 'The members that have to be there.'),
  items: field(
    24,
    { ...jsonSchemaProps, otherwise: { schema: schemas, number: 2, objectNumber: 1 } },
    'The schema of the entries.',
    'given',
  ),
  allOf: field(25, schemas, 'Schemas that all hold.'),
  oneOf: field(26, schemas, 'Schemas of which exactly one holds.'),
  anyOf: field(27, schemas, 'Schemas of which at least one holds.'),
  not: field(28, jsonSchemaProps, 'A schema that does not hold.', 'given'),
  properties: field(29, schemasByName, 'The schemas of members.'),
  additionalProperties: field(30, schemaOrFlag, 'The schema of all other members.', 'given'),
  patternProperties: field(31, schemasByName, 'Refused.'),
  dependencies: field(
    32,
    map({ ...jsonSchemaProps, otherwise: { schema: list(string, 'atomic'), number: 2, objectNumber: 1 } }),
    'Refused.',
  ),
  additionalItems: field(33, schemaOrFlag, 'Refused.', 'given'),
  definitions: field(34, schemasByName, 'Refused.'),
  externalDocs: field(35, externalDocumentation, 'External document with more information.', 'given'),
  example: field(36, any, 'An example.', 'given'),
  nullable: field(37, boolean, 'Whether null is a value.'),
  'x-kubernetes-preserve-unknown-fields': field(38, boolean, 'Whether members without a schema are kept.', 'given'),
  'x-kubernetes-embedded-resource': field(
    39,
    boolean,
    'Whether the value is a resource with apiVersion, kind and metadata.',
  ),
  'x-kubernetes-int-or-string': field(40, boolean, 'Whether the value is an integer or a text.'),
  'x-kubernetes-list-map-keys': field(41, list(string, 'atomic'), 'The fields that identify an entry of the list.'),
  'x-kubernetes-list-type': field(42, string, 'Ownership of the list by its writers: atomic, set or map.', 'given'),
  'x-kubernetes-map-type': field(43, string, 'Ownership of the members by their writers: granular or atomic.', 'given'),
  'x-kubernetes-validations': field(44, list(validationRule, { keys: ['rule'] }), 'Rules in CEL for the value.'),
};
for (const [name, declaration] of Object.entries(declared)) fieldsOfProps.set(name, { name, ...declaration });
