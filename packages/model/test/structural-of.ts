import { isIPv4, isIPv6 } from 'node:net';
import type { Integer } from '../src/json/raw-number.ts';
import {
  type AnySchema,
  boolean,
  double,
  int64,
  intOrString,
  type ListSchema,
  type Schema,
  string,
} from '../src/schema/schema.ts';
import { anyValue, emptied, structural, unstructured } from '../src/schema/structural.ts';
import type { ValueRules } from '../src/schema/value-rules.ts';

/** The schema of a custom resource, as a definition writes it. */
export interface WrittenSchema {
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, WrittenSchema>>;
  readonly additionalProperties?: boolean | WrittenSchema;
  readonly items?: WrittenSchema;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minimum?: Integer;
  readonly maximum?: Integer;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly allOf?: readonly WrittenSchema[];
  readonly anyOf?: readonly WrittenSchema[];
  readonly oneOf?: readonly WrittenSchema[];
  readonly not?: WrittenSchema;
  readonly [keyword: string]: unknown;
}

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) =>
    /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/i.test(text) && !Number.isNaN(Date.parse(text.toUpperCase())),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text,
  ipv4: isIPv4,
  ipv6: isIPv6,
  byte: (text) => text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text),
};
const numberFormats = ['int32', 'int64', 'float', 'double'];

export const isKnownFormat = (format: string): boolean => format in formats || numberFormats.includes(format);

/** What a definition writes, as a schema. Its root is that of an object. */
export function structuralOf(written: WrittenSchema, isRoot = false): Schema {
  const common = {
    ...(written.nullable && { nullable: true }),
    ...(written.default !== undefined && written.default !== null && { default: written.default }),
    rules: rulesOf(written),
  };
  if (written['x-kubernetes-int-or-string']) return { ...intOrString, ...common };
  switch (written.type) {
    case 'string':
      return { ...string, ...common };
    case 'boolean':
      return { ...boolean, ...common };
    case 'integer':
      return { ...int64, ...common };
    case 'number':
      return { ...double, ...common };
    case 'array':
      return { type: 'list', items: structuralOf(written.items ?? {}), sharing: sharingOf(written), ...common };
    case 'object': {
      const fields = Object.entries(written.properties ?? {}).filter(([name]) => !isRoot || !resourceNames.has(name));
      const rest = restOf(written);
      const metadata = written.properties?.['metadata'];
      return structural(
        fields.map(([name, inner]) => [name, structuralOf(inner)]),
        {
          ...common,
          ...(rest && { rest }),
          isRoot,
          ...(isRoot && metadata && { ofResource: new Map([['metadata', { rules: rulesOf(metadata, true) }]]) }),
          atomic: written['x-kubernetes-map-type'] === 'atomic',
          embeddedResource: written['x-kubernetes-embedded-resource'] === true,
        },
      );
    }
    default:
      return { ...anyValue, ...common };
  }
}

const resourceNames = new Set(['kind', 'apiVersion', 'metadata']);

function restOf({ additionalProperties, ...written }: WrittenSchema): Schema | undefined {
  if (written['x-kubernetes-preserve-unknown-fields']) return unstructured;
  const given: boolean | WrittenSchema | undefined = additionalProperties;
  if (typeof given === 'object') return structuralOf(given);
  const rest: AnySchema | undefined = given ? emptied : undefined;
  return rest;
}

function sharingOf(written: WrittenSchema): ListSchema['sharing'] {
  if (written['x-kubernetes-list-type'] === 'set') return 'set';
  const keys = written['x-kubernetes-list-map-keys'] as [string, ...string[]] | undefined;
  return written['x-kubernetes-list-type'] === 'map' && keys ? { keys } : 'atomic';
}

/** `nested` rules are those below of which no schema is declared. */
function rulesOf(written: WrittenSchema, nested = false): ValueRules {
  const { pattern, format, minimum, maximum, allOf, anyOf, oneOf, not, properties, items } = written;
  const inner = (rules: WrittenSchema): ValueRules => rulesOf(rules, true);
  const expression = pattern === undefined ? undefined : new RegExp(pattern, 'u');
  const matches = format === undefined ? undefined : formats[format];
  const plain = [
    'enum',
    'multipleOf',
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'required',
  ];
  const isOfIntOrString = written['x-kubernetes-int-or-string'] === true;
  return {
    ...Object.fromEntries(plain.filter((name) => written[name] !== undefined).map((name) => [name, written[name]])),
    ...(expression && { pattern: { source: pattern ?? '', size: 10, matches: (text) => expression.test(text) } }),
    ...(format !== undefined && { format: { name: format, ...(matches && { matches }) } }),
    ...(minimum !== undefined && { minimum: { value: minimum, isExclusive: written.exclusiveMinimum === true } }),
    ...(maximum !== undefined && { maximum: { value: maximum, isExclusive: written.exclusiveMaximum === true } }),
    ...(allOf && { allOf: allOf.map(inner) }),
    ...(anyOf && !isOfIntOrString && { anyOf: anyOf.map(inner) }),
    ...(oneOf && { oneOf: oneOf.map(inner) }),
    ...(not && { not: inner(not) }),
    ...(nested &&
      properties && { properties: new Map(Object.entries(properties).map(([name, one]) => [name, inner(one)])) }),
    ...(nested && items && { items: inner(items) }),
  };
}
