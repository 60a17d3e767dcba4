import { callUntil, requireValue, loopOf } from '@cluster-apiserver/base';
import type { Status, StatusError } from '@cluster-apiserver/model';
import { type ByteString, bytesOf, decodeStored, watchEventMessage, watchFrame } from '@cluster-apiserver/model/codec';
import type { EncodableKind, KubeObject } from '@cluster-apiserver/model/kind';
import { decode, statusSchema } from '@cluster-apiserver/model/schema';
import {
  type Bookmark,
  convertBefore,
  isConvertedBefore,
  type ObjectEvent,
  type Resource,
  type WatchEvent,
} from '@cluster-apiserver/registry';
import { encodeMessage } from '../listener/web-socket/messages.ts';
import { contentTypes, encode } from './encode.ts';
import type { ResponseFormat, Transform } from './negotiate.ts';
import { encodeProtobufInSteps, encodeStoredProtobuf } from './object-body.ts';
import { largeCharacters, objectJson } from './object-json.ts';
import type { EncodableObject, ServedForm } from './served-form.ts';
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

/** A test of objects in the version of the client, for a selection that is known only then. */
type Matches = (object: KubeObject) => boolean;

/** Returns a cache of the encoders of each format, so that watchers share encoded events. */
export function createFrameCache(
  resource: Resource,
): (format: ResponseFormat, framing: Framing, matches: Matches | undefined) => Frames {
  const jsonFrameSet =
    resource.stored === resource.served && !isConvertedBefore(resource)
      ? { stream: plainJsonFrames(resource.kind, 'stream'), messages: plainJsonFrames(resource.kind, 'messages') }
      : undefined;
  const others = new Map<string, Frames>();
  const converter = isConvertedBefore(resource) ? createConverter(resource) : undefined;
  return (format, framing, matches) => {
    if (converter && matches)
      return createFrames(resource, format, framing, selectingConverter(resource, converter, matches));
    if (jsonFrameSet && format.encoding === 'json' && !format.transform) return jsonFrameSet[framing];
    const name = JSON.stringify([format, framing]);
    const frames = others.get(name) ?? createFrames(resource, format, framing, converter?.outcomes);
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

function createFrames(
  resource: Resource,
  { encoding, transform }: ResponseFormat,
  framing: Framing,
  convert: ConvertEvents | undefined,
): Frames {
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
  const encodeConverted = async (
    converting: Promise<readonly EncodableEvent[]>,
    namesColumns: boolean,
  ): Promise<Buffer> => {
    const converted = await converting;
    // A thousand watchers may wait for one conversion.
    return loopOf(clock).runOrSchedule(() => encodeEvents(converted, namesColumns));
  };
  // The last bookmark is written before the watch ends.
  const writer =
    (namesColumns: boolean): FrameWriter =>
    (events) =>
      convert && !events.every(isBookmark)
        ? encodeConverted(convert(events), namesColumns)
        : encodeEvents(events, namesColumns);
  const later = writer(false);
  return {
    contentType: isProtobuf ? `${contentTypes.protobuf};stream=watch` : contentTypes.json,
    first: transform?.as === 'Table' ? writer(true) : later,
    later,
    error: createErrorFrame(frame, isProtobuf ? encodeStatusProtobuf : JSON.stringify),
  };
}

const isBookmark = (event: WatchEvent): event is Bookmark => event.type === 'BOOKMARK';

const isLarge = (event: EncodableEvent): boolean =>
  event.type !== 'BOOKMARK' && event.outcome.json.length > largeCharacters;

/** A watch may last for hours, and a conversion may not. */
const conversionTimeoutMs = 30_000;

/** Rejects if an object cannot be converted, which ends the watches of this version with an ERROR event. */
type ConvertEvents = (events: readonly WatchEvent[]) => Promise<readonly EncodableEvent[]>;

interface Converter {
  readonly outcomes: ConvertEvents;
  /** The former states of modified objects; undefined for other events. */
  readonly formers: (events: readonly WatchEvent[]) => Promise<readonly (EncodableObject | undefined)[]>;
}

/** Watchers of all formats and selections share what is converted of an event. */
function createConverter(resource: Resource): Converter {
  const outcomes = new WeakMap<WatchEvent, Promise<EncodableObject>>();
  const formers = new WeakMap<WatchEvent, Promise<EncodableObject>>();
  const outcomeOf = ({ outcome }: ObjectEvent): EncodableObject => outcome;
  return {
    outcomes: async (events) => {
      const converted = await convertOnce(resource, events, outcomeOf, outcomes);
      return events.map((event, at) =>
        event.type === 'BOOKMARK'
          ? event
          : { type: event.type, outcome: requireValue(converted[at], 'a conversion leaves out no object') },
      );
    },
    formers: (events) => convertOnce(resource, events, ({ former }) => former, formers),
  };
}

function convertOnce(
  resource: Resource,
  events: readonly WatchEvent[],
  objectOf: (event: ObjectEvent) => EncodableObject | undefined,
  known: WeakMap<WatchEvent, Promise<EncodableObject>>,
): Promise<readonly (EncodableObject | undefined)[]> {
  const added = events.flatMap((event) => {
    const object = event.type === 'BOOKMARK' || known.has(event) ? undefined : objectOf(event);
    return object ? [{ event, object }] : [];
  });
  if (added.length > 0) {
    const call = callUntil(resource.clock.monotonicMs() + conversionTimeoutMs);
    const objects = added.map(({ object }) => object);
    const converting = convertBefore(resource, objects, call);
    for (const [at, { event }] of added.entries())
      known.set(
        event,
        converting.then((all) => requireValue(all[at])),
      );
  }
  return Promise.all(events.map(async (event) => known.get(event)));
}

/** An object that begins to match is added, one that ceases to match is deleted, as its last state that did. */
function selectingConverter(resource: Resource, { outcomes, formers }: Converter, matches: Matches): ConvertEvents {
  const isSelected = ({ json }: EncodableObject): boolean => matches(decodeStored(json));
  const select = (event: EncodableEvent, former: EncodableObject | undefined): readonly EncodableEvent[] => {
    if (event.type === 'BOOKMARK') return [event];
    const { type, outcome } = event;
    const wasSelected = former !== undefined && isSelected(former);
    if (isSelected(outcome)) return [{ type: type === 'MODIFIED' && !wasSelected ? 'ADDED' : type, outcome }];
    return wasSelected ? [{ type: 'DELETED', outcome: former }] : [];
  };
  return async (events) => {
    const [converted, before] = await Promise.all([outcomes(events), formers(events)]);
    return loopOf(resource.clock).runOrSchedule(() => converted.flatMap((event, at) => select(event, before[at])));
  };
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
