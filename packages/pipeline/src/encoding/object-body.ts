import { type Clock, invariant, loopOf } from '@cluster-apiserver/base';
import { type ByteString, encodeMessage, encodeEnvelope, messageParts } from '@cluster-apiserver/model/codec';
import type { KubeObject, EncodableKind } from '@cluster-apiserver/model/kind';
import type { Resource } from '@cluster-apiserver/registry';
import type { BodySource, ReadyBody } from '../body-source.ts';
import { hasTypeNames } from './encode.ts';
import { slicedBody } from './sliced-body.ts';
import type { ResponseFormat, Transform } from './negotiate.ts';
import { largeCharacters, objectJson, decodeServedObject } from './object-json.ts';
import type { EncodableObject, ServedForm } from './served-form.ts';
import { objectSchema, transformObject } from './transform.ts';

/** Encodes a stored object. For plain JSON its bytes are ready. */
export function objectBody(
  resource: ServedForm & Pick<Resource, 'clock'>,
  { encoding, transform }: ResponseFormat,
  { json }: EncodableObject,
): ReadyBody | BodySource | Promise<ReadyBody> {
  const { clock, fromStored } = resource;
  if (encoding === 'json' && !transform && !fromStored) return `${json}\n`;
  const nowMs = clock.now();
  const texts = objectJson(resource, transform, json, { nowMs });
  const protobuf = encodeStoredProtobuf(resource, transform, json, nowMs);
  return slicedBody(loopOf(clock), encoding, { texts, protobuf }, json.length);
}

/** Encodes an object that is not stored. It is not longer than the request that it answers. */
export function unstoredObjectBody(
  kind: EncodableKind,
  { encoding, transform }: ResponseFormat,
  object: KubeObject,
  clock: Clock,
): BodySource | Promise<ReadyBody> {
  const text = unstoredObjectJson(kind, transform, object, clock);
  const protobuf = encodeProtobufInSteps(kind, transform, object, text.length, clock.now());
  return slicedBody(loopOf(clock), encoding, { texts: [text], protobuf }, text.length);
}

export const unstoredObjectJson = (
  kind: EncodableKind,
  transform: Transform | undefined,
  object: KubeObject,
  clock: Clock,
): string => JSON.stringify(transform ? transformObject(kind, object, transform, { nowMs: clock.now() }) : object);

export function* encodeProtobufInSteps(
  kind: EncodableKind,
  transform: Transform | undefined,
  object: KubeObject,
  characters: number,
  nowMs: number,
): Generator<Uint8Array | undefined> {
  const schema = objectSchema(kind, transform);
  const value = transform ? transformObject(kind, object, transform, { nowMs }) : object;
  invariant(hasTypeNames(value), 'a response does not name its kind');
  const parts = characters > largeCharacters ? yield* messageParts(schema, value) : [encodeMessage(schema, value)];
  yield encodeEnvelope(
    value,
    parts.reduce((sum, { length }) => sum + length, 0),
  );
  yield* parts;
}

export function* encodeStoredProtobuf(
  form: ServedForm,
  transform: Transform | undefined,
  json: ByteString,
  nowMs: number,
): Generator<Uint8Array | undefined> {
  yield* encodeProtobufInSteps(form.served, transform, yield* decodeServedObject(form, json), json.length, nowMs);
}
