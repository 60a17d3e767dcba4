import { errorMessage } from '@cluster-apiserver/base';
import type { ObjectSchema } from '../schema/schema.ts';
import { MalformedTextError, type Parsed } from '../json/json.ts';
import { clientBounds, type JsonBounds, TooManyValuesError } from '../json/json-scan.ts';
import { decodeMessage } from './protobuf-decoder.ts';
import { encodeMessage } from './protobuf-encoder.ts';
import {
  delimited,
  encodeWith,
  FieldBudget,
  writeNested,
  readMessage,
  readNested,
  requireType,
  writeTag,
} from './protobuf-wire.ts';

/**
 * An object as `application/vnd.kubernetes.protobuf`: four magic bytes, and then an envelope message with kind, apiVersion
 * and the message of the object.
 */
const prefix = Buffer.from('k8s\0');

export const isProtobuf = (bytes: Buffer): boolean => bytes.subarray(0, prefix.length).equals(prefix);

export interface TypeNames {
  readonly kind: string;
  readonly apiVersion: string;
}

export function encodeProtobuf(schema: ObjectSchema, value: TypeNames): Buffer {
  const message = encodeMessage(schema, value);
  return Buffer.concat([encodeEnvelope(value, message.length), message]);
}

/** The bytes before the message of an object. */
export function encodeEnvelope({ kind, apiVersion }: TypeNames, messageBytes: number): Buffer {
  const head = encodeWith((to) => {
    writeNested(to, 1, (names) => {
      writeTag(names, 1, delimited).string(apiVersion);
      writeTag(names, 2, delimited).string(kind);
    });
    writeTag(to, 2, delimited).uint32(messageBytes);
  });
  return Buffer.concat([prefix, head]);
}

/**
 * Parses an object to the value that it has as parsed JSON. For an unknown kind only kind and apiVersion are read, for the
 * error message. Unknown fields have no names in protobuf, so they are ignored.
 */
export function parseProtobuf(
  bytes: Buffer,
  schemaOf: (names: Partial<TypeNames>) => ObjectSchema | undefined,
  bounds = clientBounds,
): Parsed {
  if (!isProtobuf(bytes))
    throw new MalformedTextError('protobuf: it does not begin with the prefix that every object has');
  if (bytes.length === prefix.length) throw new MalformedTextError('protobuf: nothing follows the prefix');
  try {
    const { names, message } = openEnvelope(bytes.subarray(prefix.length), bounds);
    const schema = schemaOf(names);
    return { value: { ...names, ...(schema && decodeMessage(schema, message, bounds)) }, faults: [] };
  } catch (error) {
    if (error instanceof TooManyValuesError) throw error;
    // Every error of the reader is an error in the bytes.
    throw new MalformedTextError(`protobuf: ${errorMessage(error)}`, { cause: error });
  }
}

function openEnvelope(
  bytes: Buffer,
  bounds: JsonBounds,
): { readonly names: Partial<TypeNames>; readonly message: Uint8Array } {
  const budget = new FieldBudget(bounds);
  const names: Partial<Record<keyof TypeNames, string>> = {};
  let message: Uint8Array = new Uint8Array();
  readMessage(bytes, budget, (number, type, reader) => {
    if (number > 2) return false;
    requireType(type, delimited, 'the envelope');
    if (number === 2) message = reader.bytes();
    else
      readNested(reader, budget, (name, nameType) => {
        if (name > 2) return false;
        requireType(nameType, delimited, 'the envelope');
        names[name === 1 ? 'apiVersion' : 'kind'] = reader.string();
        return true;
      });
    return true;
  });
  return { names, message };
}

/** An event of a watch. */
export const watchEventMessage = (type: string, object: Uint8Array): Uint8Array =>
  encodeWith((to) => {
    writeTag(to, 1, delimited).string(type);
    writeNested(to, 2, (raw) => writeTag(raw, 1, delimited).bytes(object));
  });

/** One event of a stream, with its length in front, because protobuf messages have no end mark. */
export function watchFrame(type: string, object: Uint8Array): Buffer {
  const event = watchEventMessage(type, object);
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(event.length);
  return Buffer.concat([length, event]);
}
