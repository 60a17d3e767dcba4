import { unreachable } from '@cluster-apiserver/base';
import { memberSchema, type ObjectSchema, type Schema, string, structural } from '@cluster-apiserver/model/schema';
import { type ObjectType, type Type, types } from '../check/type.ts';
import { escapeName } from '../values/escaped-name.ts';

/** The type of the objects of a kind, by which expressions over one kind are checked. Inner objects are named by their path. */
export function typeOfKind(kind: string, schema: ObjectSchema): ObjectType {
  return new TypeDeclarations(memberSchema).declareObject(kind, schema).type;
}

/** The types of the values of a structural schema in its rules. */
export const declareRuleTypes = (): TypeDeclarations => new TypeDeclarations(ruleMember);

/** The type of the values of a schema, and how large they may be, in the terms of kube-apiserver's estimate of costs. */
export interface DeclaredType {
  readonly type: Type;
  /** Characters, entries or members of one value. Those of numbers are not counted. */
  readonly sizeMax: number;
  /** Of the JSON of the smallest value. */
  readonly bytesMin: number;
  /** Of an object, by their names in expressions. A word of the language that stands for itself has no size. */
  readonly members?: ReadonlyMap<string, DeclaredType>;
  /** Of a list, or of the values of a map. */
  readonly elements?: DeclaredType;
}

/** The metadata of a resource as its rules see them. */
const ruleMetadata = structural([
  ['name', string],
  ['generateName', string],
]);

/** The schema of a member as rules see it. */
export const ruleMember = (schema: ObjectSchema, name: string): Schema | undefined =>
  name === 'metadata' && isResource(schema) ? ruleMetadata : memberSchema(schema, name);

const isResource = ({ structural: of }: ObjectSchema): boolean =>
  of !== undefined && (of.embeddedResource || of.first.length > 0);

/** The schema of the values of a map; undefined for an object. */
export const mapValues = ({ fields, rest }: ObjectSchema): Schema | undefined =>
  fields.size === 0 && rest?.type !== 'any' ? rest : undefined;

/** The size of a request that the estimate of costs assumes, and without the marks around the only value in it. */
export const requestBytesMax = 3 * 1024 * 1024;
const contentBytesMax = requestBytesMax - 2;

/**
 * The types of a schema and of all schemas in it. A part that no expression can name has none. Each schema is declared
 * once: a caller that begins with those inside has little to do at a time.
 */
export class TypeDeclarations {
  readonly #memberOf: (schema: ObjectSchema, name: string) => Schema | undefined;
  readonly #known = new Map<Schema, DeclaredType | undefined>();

  constructor(memberOf: (schema: ObjectSchema, name: string) => Schema | undefined) {
    this.#memberOf = memberOf;
  }

  declare(name: string, schema: Schema): DeclaredType | undefined {
    if (this.#known.has(schema)) return this.#known.get(schema);
    const declared = this.#declare(name, schema);
    this.#known.set(schema, declared);
    return declared;
  }

  declareObject(name: string, schema: ObjectSchema): DeclaredType & { readonly type: ObjectType } {
    const typed: Record<string, Type> = {};
    const members = new Map<string, DeclaredType>();
    const required = new Set(schema.rules?.required);
    let bytesMin = 2;
    for (const field of schema.fields.keys()) {
      const escaped = escapeName(field);
      const member = this.#memberOf(schema, field);
      const declared = member && this.declare(`${name}.${escaped ?? field}`, member);
      if (!declared) continue;
      if (required.has(field) && member.default === undefined) bytesMin += field.length + declared.bytesMin + 4;
      if (escaped === undefined) continue;
      members.set(escaped, declared);
      typed[escaped] = declared.type;
      // A word of the language may stand behind a dot as it is.
      if (escaped === `__${field}__`) typed[field] = declared.type;
    }
    return { type: types.object(name, typed), sizeMax: 0, bytesMin, members };
  }

  #declare(name: string, schema: Schema): DeclaredType | undefined {
    const { maxLength, maxItems } = schema.rules ?? {};
    switch (schema.type) {
      case 'string':
        return declareText(schema);
      case 'bytes':
        return sized(types.bytes, 2, maxLength);
      case 'quantity':
        return sized(types.string, 2);
      case 'intOrString':
        return sized(types.dyn, 1, bytesOf(maxLength));
      case 'boolean':
        return sized(types.bool, 4, 0);
      case 'int32':
      case 'int64':
        return sized(types.int, 1, 0);
      case 'double':
        return sized(types.double, 1, 0);
      case 'time':
      case 'microTime':
        return sized(types.timestamp, timeBytesMin, timeSizeMax);
      case 'map':
        return this.#map(name, schema, schema.values);
      case 'list': {
        const elements = this.declare(`${name}.@idx`, schema.items);
        if (!elements) return undefined;
        const sizeMax = maxItems ?? Math.floor(contentBytesMax / (elements.bytesMin + 1));
        return { type: types.list(elements.type), sizeMax, bytesMin: 2, elements };
      }
      case 'object': {
        const values = mapValues(schema);
        return values ? this.#map(name, schema, values) : this.declareObject(name, schema);
      }
      case 'any':
        // Without contents it is published as an object without declared fields.
        return schema.contents === undefined ? sized(types.object(name, {}), 2, 0) : undefined;
      default:
        return unreachable(schema);
    }
  }

  #map(name: string, { rules }: Schema, values: Schema): DeclaredType | undefined {
    const elements = this.declare(`${name}.@elem`, values);
    if (!elements) return undefined;
    // Quotation marks, a colon and a comma, and a value.
    const sizeMax = rules?.maxProperties ?? Math.floor(contentBytesMax / (elements.bytesMin + 6));
    return { type: types.map(types.string, elements.type), sizeMax, bytesMin: 2, elements };
  }
}

const sized = (type: Type, bytesMin: number, sizeMax = contentBytesMax): DeclaredType => ({ type, sizeMax, bytesMin });

/** A character takes up to four bytes. */
const bytesOf = (characters: number | undefined): number | undefined => characters && characters * 4;

const timeSizeMax = 32;
const timeBytesMin = 21;

function declareText({ rules = {} }: Schema): DeclaredType {
  const { maxLength, format } = rules;
  switch (format?.name) {
    case 'byte':
      return sized(types.bytes, 2, maxLength);
    case 'duration':
      return sized(types.duration, 3, timeSizeMax);
    case 'date':
      return sized(types.timestamp, 12, 12);
    case 'date-time':
      return sized(types.timestamp, timeBytesMin, timeSizeMax);
    default:
      return sized(types.string, 2, bytesOf(maxLength) ?? longestOf(rules.enum));
  }
}

const longestOf = (choices: readonly unknown[] | undefined): number | undefined =>
  choices?.length
    ? Math.max(...choices.map((choice) => (typeof choice === 'string' ? Buffer.byteLength(choice) : 0)))
    : undefined;
