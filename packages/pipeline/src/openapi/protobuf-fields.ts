/** Fields of the messages in which gnostic keeps OpenAPI documents. */
import {
  delimited,
  formatYaml,
  type ProtobufWriter,
  varint,
  writeNested,
  writeTag,
} from '@cluster-apiserver/model/codec';
import { isJsonObject } from '@cluster-apiserver/model/json';

/** Extensions are encoded as YAML in blocks, with members in the order of their names, as Go writes it. */
export function encodeExtensions(to: ProtobufWriter, number: number, of: object): void {
  const own = Object.entries(of).filter(([name]) => name.startsWith('x-'));
  named(to, number, Object.fromEntries(own), (any, value) => text(any, 2, formatYaml(inOrder(value))));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]));
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
