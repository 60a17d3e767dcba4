import { getOwn, type SyncTask } from '@cluster-apiserver/base';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import { parseProtobuf, parseYamlSteps, YamlTooLargeError } from '@cluster-apiserver/model/codec';
import {
  type JsonBounds,
  MalformedTextError,
  type Parsed,
  parseDeepJsonSteps,
  parseJsonSteps,
  TooManyValuesError,
} from '@cluster-apiserver/model/json';
import type { EncodableKind } from '@cluster-apiserver/model/kind';
import { type ApiRequest } from '../exchange.ts';

/** Parses a body. Protobuf requires the schema, which it finds by kind and version. */
export type BodyFormat = (body: Buffer, schemaOf: SchemaOf, bounds?: JsonBounds) => SyncTask<Parsed>;
export type SchemaOf = Parameters<typeof parseProtobuf>[1];

export const parseJsonBody = (body: Buffer, bounds?: JsonBounds): SyncTask<Parsed> =>
  parseJsonSteps(body.toString(), bounds);

/** The same for objects: unknown fields may be nested deeper than the limit, since they are dropped. */
const parseObjectJson: BodyFormat = (body, _, bounds) => parseDeepJsonSteps(body.toString(), bounds);

export const parseYamlBody = (body: Buffer, bounds?: JsonBounds): SyncTask<Parsed> =>
  parseYamlSteps(body.toString(), undefined, bounds);

const protobuf = 'application/vnd.kubernetes.protobuf';
const formats: Readonly<Record<string, BodyFormat>> = {
  'application/json': parseObjectJson,
  'application/yaml': (body, _, bounds) => parseYamlBody(body, bounds),
  [protobuf]: function* (body, schemaOf, bounds) {
    yield;
    return parseProtobuf(body, schemaOf, bounds);
  },
};

/** The format of a body by its content type, JSON if there is none. Throws UnsupportedMediaType. */
export function formatOfBody(request: ApiRequest, { hasProtobuf }: Pick<EncodableKind, 'hasProtobuf'>): BodyFormat {
  const type = mediaTypeOf(request);
  if (type === undefined || type === '') return parseObjectJson;
  const format = getOwn(formats, type);
  if (!format)
    throw new StatusError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${Object.keys(formats).join(', ')}`,
    );
  if (format === formats[protobuf] && !hasProtobuf)
    throw new StatusError(
      'UnsupportedMediaType',
      'the objects of this kind have no form in protobuf: send application/json or application/yaml',
    );
  return format;
}

/** The content type without parameters, which have no effect here. */
export const mediaTypeOf = (request: ApiRequest): string | undefined =>
  request.header('content-type')?.split(';', 1)[0]?.trim().toLowerCase();

/** Turns parse errors into responses. */
export function* rejectUnparsable(parse: SyncTask<Parsed>, what: string): SyncTask<Parsed> {
  try {
    return yield* parse;
  } catch (error) {
    if (error instanceof MalformedTextError) throw badRequest(`${what}: ${error.message}`, error);
    if (error instanceof YamlTooLargeError || error instanceof TooManyValuesError)
      throw new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`, undefined, {
        cause: error,
      });
    throw error;
  }
}
