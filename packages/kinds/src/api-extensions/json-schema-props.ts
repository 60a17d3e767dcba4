import {
  any,
  boolean,
  double,
  type Field,
  int64,
  jsonField,
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
    rule: jsonField(string, 'The expression in CEL, of the value as `self`, that has to be true.', 'always'),
    message: jsonField(string, 'What to say if it is false.'),
    messageExpression: jsonField(string, 'An expression for what to say, before `message`.'),
    reason: jsonField(string, 'The reason of the error: FieldValueInvalid by default.', 'given'),
    fieldPath: jsonField(string, 'The path below the value of the field that the error names.'),
    optionalOldSelf: jsonField(
      boolean,
      'Whether `oldSelf` is an optional, so that the rule applies to new values, too.',
      'given',
    ),
  },
  { publication: publicationOfPart('ValidationRule', 'A rule for a value.', ['rule']) },
);

const externalDocumentation = object(
  {
    description: jsonField(string, 'What is there.'),
    url: jsonField(string, 'Where it is.'),
  },
  { publication: publicationOfPart('ExternalDocumentation', 'Where more is written.') },
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
const schemaOrFlag: Schema = { ...jsonSchemaProps, otherwise: boolean };

/** Flags are left out if they are false; numbers that are zero, and empty texts of pointers in Go, stay. */
const declared = {
  id: jsonField(string, 'Not used.'),
  $schema: jsonField(string, 'Refused.'),
  $ref: jsonField(string, 'Refused.', 'given'),
  description: jsonField(string, 'What the value means.'),
  type: jsonField(string, 'array, boolean, integer, number, object or string.'),
  format: jsonField(string, 'The format of a text or a number.'),
  title: jsonField(string, 'A name for people.'),
  default: jsonField(any, 'The value of a field that is not set.', 'given'),
  maximum: jsonField(double, 'The greatest number.', 'given'),
  exclusiveMaximum: jsonField(boolean, 'Whether `maximum` itself is excluded.'),
  minimum: jsonField(double, 'The least number.', 'given'),
  exclusiveMinimum: jsonField(boolean, 'Whether `minimum` itself is excluded.'),
  maxLength: jsonField(int64, 'The most characters.', 'given'),
  minLength: jsonField(int64, 'The fewest characters.', 'given'),
  pattern: jsonField(string, 'A regular expression that matches a part of the text.'),
  maxItems: jsonField(int64, 'The most entries.', 'given'),
  minItems: jsonField(int64, 'The fewest entries.', 'given'),
  uniqueItems: jsonField(boolean, 'Refused if true.'),
  multipleOf: jsonField(double, 'The number is a multiple of this one.', 'given'),
  enum: jsonField(list(any, 'atomic'), 'All values that are allowed.'),
  maxProperties: jsonField(int64, 'The most members.', 'given'),
  minProperties: jsonField(int64, 'The fewest members.', 'given'),
  required: jsonField(list(string, 'atomic'), 'The members that have to be there.'),
  items: jsonField({ ...jsonSchemaProps, otherwise: schemas }, 'The schema of the entries.', 'given'),
  allOf: jsonField(schemas, 'Schemas that all hold.'),
  oneOf: jsonField(schemas, 'Schemas of which exactly one holds.'),
  anyOf: jsonField(schemas, 'Schemas of which at least one holds.'),
  not: jsonField(jsonSchemaProps, 'A schema that does not hold.', 'given'),
  properties: jsonField(schemasByName, 'The schemas of members.'),
  additionalProperties: jsonField(schemaOrFlag, 'The schema of all other members.', 'given'),
  patternProperties: jsonField(schemasByName, 'Refused.'),
  dependencies: jsonField(map({ ...jsonSchemaProps, otherwise: list(string, 'atomic') }), 'Refused.'),
  additionalItems: jsonField(schemaOrFlag, 'Refused.', 'given'),
  definitions: jsonField(schemasByName, 'Refused.'),
  externalDocs: jsonField(externalDocumentation, 'Where more is written.', 'given'),
  example: jsonField(any, 'An example.', 'given'),
  nullable: jsonField(boolean, 'Whether null is a value.'),
  'x-kubernetes-preserve-unknown-fields': jsonField(boolean, 'Whether members without a schema are kept.', 'given'),
  'x-kubernetes-embedded-resource': jsonField(
    boolean,
    'Whether the value is a resource with apiVersion, kind and metadata.',
  ),
  'x-kubernetes-int-or-string': jsonField(boolean, 'Whether the value is an integer or a text.'),
  'x-kubernetes-list-map-keys': jsonField(list(string, 'atomic'), 'The fields that identify an entry of the list.'),
  'x-kubernetes-list-type': jsonField(string, 'How writers share the list: atomic, set or map.', 'given'),
  'x-kubernetes-map-type': jsonField(string, 'How writers share the members: granular or atomic.', 'given'),
  'x-kubernetes-validations': jsonField(list(validationRule, { keys: ['rule'] }), 'Rules in CEL for the value.'),
};
for (const [name, declaration] of Object.entries(declared)) fieldsOfProps.set(name, { name, ...declaration });
