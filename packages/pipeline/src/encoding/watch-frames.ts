import { callUntil, requireValue, loopOf } from '@cluster-apiserver/base';
import type { Status, StatusError } from '@cluster-apiserver/model';
import { type ByteString, bytesOf, watchEventMessage, watchFrame } from '@cluster-apiserver/model/codec';
import type { EncodableKind, KubeObject } from '@cluster-apiserver/model/kind';
import { decode, statusSchema } from '@cluster-apiserver/model/schema';
import type { Bookmark, Resource, WatchEvent } from '@cluster-apiserver/registry';
import { encodeMessage } from '../listener/web-socket/messages.ts';
import { contentTypes, encode } from './encode.ts';
import type { ResponseFormat, Transform } from './negotiate.ts';
import { encodeProtobufInSteps, encodeStoredProtobuf } from './object-body.ts';
import { largeCharacters, objectJson } from './object-json.ts';
import { convertBefore, type EncodableObject, isConvertedBefore, type ServedForm } from './served-form.ts';
import { encodeAtOnce, encodeInSteps, joinSteps, type Parts, type Steps } from './sliced-body.ts';
import { type TableOfObjectOptions, transformObject } from './transform.ts';

/**
 * Encodes events in one format: at once, or over several turns if an object is large. Watchers of the same format share
 * the encoded batch.
 */
export type FrameWriter = (events: readonly WatchEvent[]) => Buffer | Promise<Buffer>;

/** What encoders read of an event. */
type EncodableEvent = Bookmark | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly outcome: EncodableObject };

/** The encoders of one watch format. */
export interface Frames {
  readonly contentType: string;
  /** The first events of a watch: only these have the columns of a table. */
  readonly first: FrameWriter;
  readonly later: FrameWriter;
  error(error: StatusError): Buffer;
}

/** How events are delimited: in a stream, or as WebSocket messages. */
export type Framing = 'stream' | 'messages';

/** Returns a cache of the encoders of each format, so that watchers share encoded events. */
export function createFrameCache(resource: Resource): (format: ResponseFormat, framing: Framing) => Frames {
  const jsonFrameSet =
    resource.stored === resource.served && !isConvertedBefore(resource)
      ? { stream: plainJsonFrames(resource.kind, 'stream'), messages: plainJsonFrames(resource.kind, 'messages') }
      : undefined;
  const others = new Map<string, Frames>();
  return (format, framing) => {
    if (jsonFrameSet && format.encoding === 'json' && !format.transform) return jsonFrameSet[framing];
    const name = JSON.stringify([format, framing]);
    const frames = others.get(name) ?? createFrames(resource, format, framing);
    others.set(name, frames);
    return frames;
  };
}

/** Joins the ready bytes of the objects. */
function plainJsonFrames(kind: EncodableKind, framing: Framing): Frames {
  const write: FrameWriter =
    framing === 'stream'
      ? (events) => bytesOf(events.map((event) => jsonLine(kind, event)).join(''))
      : (events) => Buffer.concat(events.map((event) => encodeMessage('text', bytesOf(jsonLine(kind, event)))));
  const error = createErrorFrame(jsonFrames[framing], JSON.stringify);
  return { contentType: contentTypes.json, first: write, later: write, error };
}

function jsonLine(kind: EncodableKind, event: WatchEvent): ByteString {
  const object = event.type === 'BOOKMARK' ? JSON.stringify(bookmarkObject(kind, event)) : event.outcome.json;
  return `{"type":"${event.type}","object":${object}}\n`;
}

function createFrames(resource: Resource, { encoding, transform }: ResponseFormat, framing: Framing): Frames {
  const { clock } = resource;
  const isProtobuf = encoding === 'protobuf';
  const frame = (isProtobuf ? protobufFrames : jsonFrames)[framing];
  const encodeObject = isProtobuf ? encodeEventProtobuf : encodeEventJson;
  function* generate(events: readonly EncodableEvent[], namesColumns: boolean): Steps {
    const nowMs = clock.now();
    for (const [at, event] of events.entries())
      yield* frame(
        event.type,
        encodeObject(resource, transform, event, { nowMs, namesColumns: namesColumns && at === 0 }),
      );
  }
  const encodeEvents = (events: readonly EncodableEvent[], namesColumns: boolean): Buffer | Promise<Buffer> => {
    const steps = generate(events, namesColumns);
    return events.some(isLarge) ? encodeInSteps(loopOf(clock), steps) : encodeAtOnce(steps);
  };
  // Watchers share the frames, so a batch is converted once for all of them.
  const writer = (namesColumns: boolean): FrameWriter =>
    isConvertedBefore(resource)
      ? async (events) => encodeEvents(await convertEvents(resource, events), namesColumns)
      : (events) => encodeEvents(events, namesColumns);
  const later = writer(false);
  return {
    contentType: isProtobuf ? `${contentTypes.protobuf};stream=watch` : contentTypes.json,
    first: transform?.as === 'Table' ? writer(true) : later,
    later,
    error: createErrorFrame(frame, isProtobuf ? encodeStatusProtobuf : JSON.stringify),
  };
}

const isLarge = (event: EncodableEvent): boolean =>
  event.type !== 'BOOKMARK' && event.outcome.json.length > largeCharacters;

/** A watch may last for hours, and a conversion may not. */
const conversionTimeoutMs = 30_000;

/** Rejects if an object cannot be converted, which ends the watches of this version with an ERROR event. */
async function convertEvents(resource: Resource, events: readonly WatchEvent[]): Promise<readonly EncodableEvent[]> {
  const outcomes = events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.outcome]));
  const call = callUntil(resource.clock.monotonicMs() + conversionTimeoutMs);
  const converted = (await convertBefore(resource, outcomes, call)).values();
  return events.map((event) => {
    if (event.type === 'BOOKMARK') return event;
    return { type: event.type, outcome: requireValue(converted.next().value, 'a conversion leaves out no object') };
  });
}

type EncodeEvent = (
  form: ServedForm,
  transform: Transform | undefined,
  event: EncodableEvent,
  options: TableOfObjectOptions,
) => Steps;

const encodeEventProtobuf: EncodeEvent = (form, transform, event, { nowMs }) =>
  event.type === 'BOOKMARK'
    ? encodeProtobufInSteps(form.served, transform, bookmarkObject(form.served, event), 0, nowMs)
    : encodeStoredProtobuf(form, transform, event.outcome.json, nowMs);

const encodeEventJson: EncodeEvent = function* (form, transform, event, options) {
  if (event.type === 'BOOKMARK') {
    const object = bookmarkObject(form.served, event);
    yield JSON.stringify(transform ? transformObject(form.served, object, transform, options) : object);
  } else yield* objectJson(form, transform, event.outcome.json, options);
};

/** Encodes one event around its object. */
type Frame = (type: string, object: Parts) => Steps;

function* jsonFrame(type: string, object: Parts): Steps {
  yield `{"type":"${type}","object":`;
  yield* object;
  yield '}\n';
}

const jsonFrames: Readonly<Record<Framing, Frame>> = {
  stream: jsonFrame,
  *messages(type, object) {
    yield encodeMessage('text', yield* joinSteps(jsonFrame(type, object)));
  },
};

const protobufFrames: Readonly<Record<Framing, Frame>> = {
  *stream(type, object) {
    yield watchFrame(type, yield* joinSteps(object));
  },
  *messages(type, object) {
    yield encodeMessage('binary', watchEventMessage(type, yield* joinSteps(object)));
  },
};

const createErrorFrame =
  (frame: Frame, encodeStatus: (status: Status) => string | Uint8Array): Frames['error'] =>
  (error) =>
    encodeAtOnce(frame('ERROR', [encodeStatus(error.toStatus())]));

const encodeStatusProtobuf = (status: Status): Buffer => encode('protobuf', status, statusSchema);

/** The annotation of this API's specification, and the one that current clients expect. */
const initialEventsEnd = { 'k8s.io/initial-events-end': 'true', 'platform.io/initial-events-end': 'true' };

/** An object of the kind with nothing but a resourceVersion. */
function bookmarkObject(
  { schema, kind, apiVersion }: EncodableKind,
  { revision, endsInitialEvents }: Bookmark,
): KubeObject {
  const metadata = { resourceVersion: String(revision), ...(endsInitialEvents && { annotations: initialEventsEnd }) };
  return decode(schema, { kind, apiVersion, metadata }, () => {});
}
