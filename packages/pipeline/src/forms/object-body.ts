import { type Clock, schedulerOf } from '@cluster-apiserver/base';
import {
  type ByteString,
  encodeMessage,
  encodeEnvelope,
  type Kind,
  type KubeObject,
  messageParts,
  type EncodableKind,
  type TypeNames,
} from '@cluster-apiserver/model';
import type { Outcome, Resource } from '@cluster-apiserver/registry';
import type { Bytes, Flow } from '../exchange.ts';
import { bodyInSlices, type Steps, textSteps } from './in-slices.ts';
import type { Form, Shown } from './negotiate.ts';
import { largeCharacters, objectText, servedObject } from './object-text.ts';
import { objectSchema, shownObject } from './shown.ts';

/** An object as a verb gave it. As JSON its bytes are ready, and nobody looks inside. */
export function objectBody(
  { served: kind, clock }: Resource,
  { encoding, shown }: Form,
  { json }: Outcome,
): Bytes | Flow | Promise<Bytes> {
  if (encoding === 'json' && !shown && !kind.view) return `${json}\n`;
  const nowMs = clock.now();
  const begin = (): Steps =>
    encoding === 'protobuf'
      ? storedAsProtobuf(kind, shown, json, nowMs)
      : textSteps(encoding, objectText(kind, shown, json, nowMs));
  return bodyInSlices(schedulerOf(clock), begin, json.length);
}

/** An object that was made for one answer: it is no longer than what its client has sent. */
export function madeObjectBody(
  kind: EncodableKind,
  { encoding, shown }: Form,
  object: KubeObject,
  clock: Clock,
): Flow | Promise<Bytes> {
  const nowMs = clock.now();
  const text = madeObjectText(kind, shown, object, clock);
  const begin = (): Steps =>
    encoding === 'protobuf' ? protobufSteps(kind, shown, object, text.length, nowMs) : textSteps(encoding, [text]);
  return bodyInSlices(schedulerOf(clock), begin, text.length);
}

export const madeObjectText = (
  kind: EncodableKind,
  shown: Shown | undefined,
  object: KubeObject,
  clock: Clock,
): string => JSON.stringify(shown ? shownObject(kind, object, shown, { nowMs: clock.now() }) : object);

function* protobufSteps(
  kind: EncodableKind,
  shown: Shown | undefined,
  object: KubeObject,
  characters: number,
  nowMs: number,
): Generator<Uint8Array | undefined> {
  const schema = objectSchema(kind, shown);
  const value = (shown ? shownObject(kind, object, shown, { nowMs }) : object) as TypeNames; // all that is answered names its kind
  const parts = characters > largeCharacters ? yield* messageParts(schema, value) : [encodeMessage(schema, value)];
  yield encodeEnvelope(
    value,
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  yield* parts;
}

function* storedAsProtobuf(
  kind: Kind,
  shown: Shown | undefined,
  json: ByteString,
  nowMs: number,
): Generator<Uint8Array | undefined> {
  yield* protobufSteps(kind, shown, yield* servedObject(kind, json), json.length, nowMs);
}
