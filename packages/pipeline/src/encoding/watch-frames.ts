import {
  toServed,
  type ByteString,
  bytesOf,
  decode,
  decodeStored,
  type Kind,
  type KubeObject,
  type ObjectSchema,
  type StatusError,
  statusSchema,
  watchEventMessage,
  watchFrame,
} from '@cluster-apiserver/model';
import type { Bookmark, Resource, WatchEvent } from '@cluster-apiserver/registry';
import { encodeMessage } from '../listener/web-socket/messages.ts';
import { contentTypes, encode } from './encode.ts';
import type { ResponseFormat } from './negotiate.ts';
import { objectSchema, transformObject } from './transform.ts';

/** Encodes events in one format. Watchers of the same format share the encoded batch. */
export type FrameWriter = (events: readonly WatchEvent[]) => Buffer;

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
  return { contentType: contentTypes.json, first: write, later: write, error: errorFrame(jsonFrame) };
}

function jsonMessageFrames(kind: Kind): Frames {
  const write: FrameWriter = (events) =>
    Buffer.concat(events.map((event) => encodeMessage('text', bytesOf(jsonLine(kind, event)))));
  return { contentType: contentTypes.json, first: write, later: write, error: errorFrame(jsonMessage) };
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
  const [frame, contentType] =
    encoding === 'protobuf'
      ? [protobufFrames[framing], `${contentTypes.protobuf};stream=watch`]
      : [jsonFrames[framing], contentTypes.json];
  const schema = objectSchema(kind, transform);
  const writer =
    (begins: boolean): FrameWriter =>
    (events) => {
      const nowMs = clock.now();
      const frames = events.map((event, index) => {
        const object = eventObject(kind, event);
        const namesColumns = begins && index === 0;
        return frame(
          event.type,
          transform ? transformObject(kind, object, transform, { nowMs, namesColumns }) : object,
          schema,
        );
      });
      return Buffer.concat(frames);
    };
  const later = writer(false);
  return { contentType, first: transform?.as === 'Table' ? writer(true) : later, later, error: errorFrame(frame) };
}

/** Encodes one event. */
type Frame = (type: string, object: object, schema: ObjectSchema) => Buffer;

const jsonFrame: Frame = (type, object) => Buffer.from(`${JSON.stringify({ type, object })}\n`);

const jsonMessage: Frame = (type, object, schema) => encodeMessage('text', jsonFrame(type, object, schema));

const jsonFrames: Readonly<Record<Framing, Frame>> = { stream: jsonFrame, messages: jsonMessage };

const protobufFrames: Readonly<Record<Framing, Frame>> = {
  stream: (type, object, schema) => watchFrame(type, encode('protobuf', object, schema)),
  messages: (type, object, schema) =>
    encodeMessage('binary', watchEventMessage(type, encode('protobuf', object, schema))),
};

const errorFrame =
  (frame: Frame) =>
  (error: StatusError): Buffer =>
    frame('ERROR', error.toStatus(), statusSchema);

const eventObject = (kind: Kind, event: WatchEvent): KubeObject =>
  event.type === 'BOOKMARK' ? bookmarkObject(kind, event) : toServed(kind, decodeStored(event.outcome.json));

/** The annotation of this API's specification, and the one that current clients expect. */
const initialEventsEnd = { 'k8s.io/initial-events-end': 'true', 'platform.io/initial-events-end': 'true' };

/** An object of the kind with nothing but a resourceVersion. */
function bookmarkObject({ schema, kind, apiVersion }: Kind, { revision, endsInitialEvents }: Bookmark): KubeObject {
  const metadata = { resourceVersion: String(revision), ...(endsInitialEvents && { annotations: initialEventsEnd }) };
  return decode(schema, { kind, apiVersion, metadata }, () => {});
}
