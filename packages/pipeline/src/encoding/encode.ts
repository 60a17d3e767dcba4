import { invariant, unreachable } from '@cluster-apiserver/base';
import { encodeProtobuf, formatYaml, type TypeNames } from '@cluster-apiserver/model/codec';
import type { ObjectSchema } from '@cluster-apiserver/model/schema';

/** The serialization of a response. */
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

/** Only protobuf requires a schema; it is negotiated only for kinds that have one. */
export function encode(encoding: Encoding, value: object, schema?: ObjectSchema): Buffer {
  switch (encoding) {
    case 'json':
      return Buffer.from(`${JSON.stringify(value)}\n`);
    case 'prettyJson':
      // As in kube-apiserver, only a line of JSON ends with a line feed.
      return Buffer.from(JSON.stringify(value, null, 2));
    case 'yaml':
      return Buffer.from(formatYaml(value));
    case 'protobuf':
      invariant(schema, 'protobuf was negotiated for a value without schema');
      invariant(hasTypeNames(value), 'a response does not name its kind');
      return encodeProtobuf(schema, value);
    default:
      return unreachable(encoding);
  }
}

/** All responses name their kind and version. */
export const hasTypeNames = (value: object): value is TypeNames =>
  'kind' in value && typeof value.kind === 'string' && 'apiVersion' in value && typeof value.apiVersion === 'string';
