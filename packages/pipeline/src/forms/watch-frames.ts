import {
  bytesOf,
  decode,
  decodeStored,
  type Kind,
  type KubeObject,
  type Status,
  type StatusError,
} from '@cluster-apiserver/model';
import type { Bookmark, Resource, WatchEvent } from '@cluster-apiserver/registry';
import type { Form, Shown } from './negotiate.ts';
import { shownObject } from './shown.ts';

/** Writes events down in one form. What it wrote once for a batch is used for every watcher that wants the same form. */
export type FrameWriter = (events: readonly WatchEvent[]) => Buffer;

/** How a watch is written in one form. */
export interface Frames {
  readonly contentType: string;
  /** The first events of a watch: a table names its columns in them and never again. */
  readonly first: FrameWriter;
  readonly later: FrameWriter;
  error(error: StatusError): Buffer;
}

/** The frames of each form. There are few of them, and each is the same for all, so that watchers share what is written. */
export function framesOf(resource: Resource): (form: Form) => Frames {
  const plain = jsonFrames(resource.kind);
  const shown = new Map<string, Frames>();
  return (form) => {
    if (!form.shown) return plain;
    const name = JSON.stringify(form);
    const frames = shown.get(name) ?? shownFrames(resource, form.shown);
    shown.set(name, frames);
    return frames;
  };
}

/** One JSON text on each line; the bytes of the objects are ready. */
function jsonFrames(kind: Kind): Frames {
  const objectOf = (event: WatchEvent): string =>
    event.type === 'BOOKMARK' ? JSON.stringify(bookmarkObject(kind, event)) : event.outcome.json;
  const write: FrameWriter = (events) =>
    bytesOf(events.map((event) => `{"type":"${event.type}","object":${objectOf(event)}}\n`).join(''));
  return { contentType: 'application/json', first: write, later: write, error: jsonError };
}

function shownFrames({ kind, clock }: Resource, shown: Shown): Frames {
  const writer =
    (begins: boolean): FrameWriter =>
    (events) => {
      const nowMs = clock.now();
      const lines = events.map((event, index) =>
        jsonLine(
          event.type,
          shownObject(kind, objectOf(kind, event), shown, { nowMs, namesColumns: begins && index === 0 }),
        ),
      );
      return Buffer.from(lines.join(''));
    };
  return { contentType: 'application/json', first: writer(true), later: writer(false), error: jsonError };
}

const jsonError = (error: StatusError): Buffer => Buffer.from(jsonLine('ERROR', error.toStatus()));

const jsonLine = (type: string, object: object | Status): string => `${JSON.stringify({ type, object })}\n`;

const objectOf = (kind: Kind, event: WatchEvent): KubeObject =>
  event.type === 'BOOKMARK' ? bookmarkObject(kind, event) : decodeStored(event.outcome.json);

/** Under the name of the specification, and under the one that clients of today wait for. */
const initialEventsEnd = { 'k8s.io/initial-events-end': 'true', 'platform.io/initial-events-end': 'true' };

/** An object of the kind that has nothing but a version. */
function bookmarkObject({ schema, kind, apiVersion }: Kind, { revision, endsInitialEvents }: Bookmark): KubeObject {
  const metadata = { resourceVersion: String(revision), ...(endsInitialEvents && { annotations: initialEventsEnd }) };
  return decode(schema, { kind, apiVersion, metadata }, () => {}) as KubeObject;
}
