import { loopOf } from '@cluster-apiserver/base';
import {
  type ByteString,
  bytesOf,
  decode,
  type Kind,
  type KubeObject,
  type Status,
  type StatusError,
  statusSchema,
  watchEventMessage,
  watchFrame,
} from '@cluster-apiserver/model';
import type { Bookmark, Resource, WatchEvent } from '@cluster-apiserver/registry';
import { encodeMessage } from '../listener/web-socket/messages.ts';
import { contentTypes, encode } from './encode.ts';
import type { ResponseFormat, Transform } from './negotiate.ts';
import { encodeProtobufInSteps, encodeStoredProtobuf } from './object-body.ts';
import { largeCharacters, objectJson } from './object-json.ts';
import { encodeAtOnce, encodeInSteps, joinSteps, type Parts, type Steps } from './sliced-body.ts';
import { type TableOfObjectOptions, transformObject } from './transform.ts';

/**
 * Encodes events in one format: at once, or over several turns if an object is large. Watchers of the same format share
 * the encoded batch.
 */
export type FrameWriter = (events: readonly WatchEvent[]) => Buffer | Promise<Buffer>;

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
  const jsonFrameSet = resource.served.view
    ? undefined
    : { stream: jsonStreamFrames(resource.kind), messages: jsonMessageFrames(resource.kind) };
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
function jsonStreamFrames(kind: Kind): Frames {
  const write: FrameWriter = (events) => bytesOf(events.map((event) => jsonLine(kind, event)).join(''));
  return {
    contentType: contentTypes.json,
    first: write,
    later: write,
    error: createErrorFrame(jsonFrames.stream, JSON.stringify),
  };
}

function jsonMessageFrames(kind: Kind): Frames {
  const write: FrameWriter = (events) =>
    Buffer.concat(events.map((event) => encodeMessage('text', bytesOf(jsonLine(kind, event)))));
  return {
    contentType: contentTypes.json,
    first: write,
    later: write,
    error: createErrorFrame(jsonFrames.messages, JSON.stringify),
  };
}

function jsonLine(kind: Kind, event: WatchEvent): ByteString {
  const object = event.type === 'BOOKMARK' ? JSON.stringify(bookmarkObject(kind, event)) : event.outcome.json;
  return `{"type":"${event.type}","object":${object}}\n`;
}

function createFrames(
  { served: kind, clock }: Resource,
  { encoding, transform }: ResponseFormat,
  framing: Framing,
): Frames {
  const isProtobuf = encoding === 'protobuf';
  const frame = (isProtobuf ? protobufFrames : jsonFrames)[framing];
  const encodeObject = isProtobuf ? encodeEventProtobuf : encodeEventJson;
  function* generate(events: readonly WatchEvent[], namesColumns: boolean): Steps {
    const nowMs = clock.now();
    for (const [at, event] of events.entries())
      yield* frame(event.type, encodeObject(kind, transform, event, { nowMs, namesColumns: namesColumns && at === 0 }));
  }
  const writer =
    (namesColumns: boolean): FrameWriter =>
    (events) => {
      const steps = generate(events, namesColumns);
      return events.some(isLarge) ? encodeInSteps(loopOf(clock), steps) : encodeAtOnce(steps);
    };
  const later = writer(false);
  return {
    contentType: isProtobuf ? `${contentTypes.protobuf};stream=watch` : contentTypes.json,
    first: transform?.as === 'Table' ? writer(true) : later,
    later,
    error: createErrorFrame(frame, isProtobuf ? encodeStatusProtobuf : JSON.stringify),
  };
}

const isLarge = (event: WatchEvent): boolean =>
  event.type !== 'BOOKMARK' && event.outcome.json.length > largeCharacters;

type EncodeEvent = (
  kind: Kind,
  transform: Transform | undefined,
  event: WatchEvent,
  options: TableOfObjectOptions,
) => Steps;

const encodeEventProtobuf: EncodeEvent = (kind, transform, event, { nowMs }) =>
  event.type === 'BOOKMARK'
    ? encodeProtobufInSteps(kind, transform, bookmarkObject(kind, event), 0, nowMs)
    : encodeStoredProtobuf(kind, transform, event.outcome.json, nowMs);

const encodeEventJson: EncodeEvent = function* (kind, transform, event, options) {
  if (event.type === 'BOOKMARK') {
    const object = bookmarkObject(kind, event);
    yield JSON.stringify(transform ? transformObject(kind, object, transform, options) : object);
  } else yield* objectJson(kind, transform, event.outcome.json, options);
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
function bookmarkObject({ schema, kind, apiVersion }: Kind, { revision, endsInitialEvents }: Bookmark): KubeObject {
  const metadata = { resourceVersion: String(revision), ...(endsInitialEvents && { annotations: initialEventsEnd }) };
  return decode(schema, { kind, apiVersion, metadata }, () => {});
}
