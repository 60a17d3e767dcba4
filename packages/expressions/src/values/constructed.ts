import { EvaluationError, type Value } from './value.ts';

/**
 * What `Object.metadata{labels: …}` makes: the fields that a mutation gives, with the name of their place. It is no map:
 * nothing reads it but the mutation.
 */
export class ConstructedObject {
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    this.typeName = typeName;
    this.fields = fields;
  }
}

/** One operation of a JSON patch. Its texts are empty when they are not given. */
export class JsonPatchOperation {
  readonly typeName = 'JSONPatch';
  readonly op: string;
  readonly path: string;
  readonly from: string;
  readonly value: Value | undefined;

  constructor(fields: ReadonlyMap<string, Value>) {
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
}
