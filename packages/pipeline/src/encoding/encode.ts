import { invariant } from '@cluster-apiserver/base';
import { encodeProtobuf, formatYaml, type ObjectSchema, type TypeNames } from '@cluster-apiserver/model';

/** How an answer is written. */
export type Encoding = 'json' | 'prettyJson' | 'yaml' | 'protobuf';

export const mediaTypes = {
  'application/json': 'json',
  'application/yaml': 'yaml',
  'application/vnd.kubernetes.protobuf': 'protobuf',
} as const satisfies Readonly<Record<string, Encoding>>;

export type MediaType = keyof typeof mediaTypes;

export const contentTypes: Readonly<Record<Encoding, MediaType>> = {
  json: 'application/json',
  prettyJson: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
};

/** Protobuf alone needs to know the form of the value, and is asked for only where it has one. */
export function encode(encoding: Encoding, value: object, schema?: ObjectSchema): Buffer {
  switch (encoding) {
    case 'json':
      return Buffer.from(`${JSON.stringify(value)}\n`);
    case 'prettyJson':
      return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
    case 'yaml':
      return Buffer.from(formatYaml(value));
    case 'protobuf':
      invariant(schema, 'protobuf was agreed on for something that has none');
      return encodeProtobuf(schema, value as TypeNames); // all that is answered names its kind
  }
}
