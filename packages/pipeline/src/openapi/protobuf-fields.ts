/** Fields of the messages in which gnostic keeps OpenAPI documents. */
import { delimited, type ProtobufWriter, varint, writeNested, writeTag } from '@cluster-apiserver/model/codec';

/** Extensions are encoded as YAML, of which JSON is a subset. */
export function encodeExtensions(to: ProtobufWriter, number: number, of: object): void {
  const own = Object.entries(of).filter(([name]) => name.startsWith('x-'));
  named(to, number, Object.fromEntries(own), (any, value) => text(any, 2, JSON.stringify(value)));
}

/** Maps are lists of pairs in the messages of gnostic. */
export function named<T>(
  to: ProtobufWriter,
  number: number,
  all: Readonly<Record<string, T>>,
  write: (to: ProtobufWriter, value: T) => void,
): void {
  for (const [name, value] of Object.entries(all))
    writeNested(to, number, (pair) => {
      text(pair, 1, name);
      writeNested(pair, 2, (message) => write(message, value));
    });
}

export function text(to: ProtobufWriter, number: number, value: string | undefined): void {
  if (value !== undefined) writeTag(to, number, delimited).string(value);
}

export function texts(to: ProtobufWriter, number: number, values: readonly string[] = []): void {
  for (const value of values) text(to, number, value);
}

export function flag(to: ProtobufWriter, number: number, value: boolean | undefined): void {
  if (value) writeTag(to, number, varint).bool(true);
}
