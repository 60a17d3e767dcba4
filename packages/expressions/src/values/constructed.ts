import { getOwn } from '@cluster-apiserver/base';
import { EvaluationError, FieldsValue, type Value } from './value.ts';

/** What `Object.metadata{labels: …}` makes: the fields that a mutation gives, with the name of their place. */
export class ConstructedObject extends FieldsValue {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  member(name: string): Value {
    return this.fields.get(name) ?? null;
  }

  has(name: string): boolean {
    return this.fields.has(name);
  }
}

/** One operation of a JSON patch. Its texts are empty when they are not given. */
export class JsonPatchOperation extends FieldsValue {
  readonly typeName = 'JSONPatch';
  readonly op: string;
  readonly path: string;
  readonly from: string;
  readonly value: Value | undefined;

  constructor(fields: ReadonlyMap<string, Value>) {
    super();
    const text = (name: string): string => {
      const value = fields.get(name) ?? '';
      if (typeof value === 'string') return value;
      throw new EvaluationError(`unexpected type for JSONPatchType '${name}' field`);
    };
    this.op = text('op');
    this.path = text('path');
    this.from = text('from');
    this.value = fields.get('value');
  }

  member(name: string): Value {
    return getOwn(this.#fields(), name) ?? null;
  }

  has(name: string): boolean {
    const held = getOwn(this.#fields(), name);
    return held !== undefined && held !== '';
  }

  #fields(): Readonly<Record<string, Value | undefined>> {
    return { op: this.op, path: this.path, from: this.from, value: this.value };
  }
}
