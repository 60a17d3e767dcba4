import { bytesOf, decode, type Kind, type StatusError } from '@cluster-apiserver/model';
import type { Bookmark, WatchEvent } from '@cluster-apiserver/registry';

/** Writes events down in one form. What it wrote once for a batch is used for every watcher that wants the same form. */
export type FrameWriter = (events: readonly WatchEvent[]) => Buffer;

/** One JSON text on each line. */
export function jsonFrames(kind: Kind): FrameWriter {
  const objectOf = (event: WatchEvent): string =>
    event.type === 'BOOKMARK' ? bookmarkObject(kind, event) : event.outcome.json;
  return (events) => bytesOf(events.map((event) => `{"type":"${event.type}","object":${objectOf(event)}}\n`).join(''));
}

export const errorFrame = (error: StatusError): Buffer =>
  Buffer.from(`${JSON.stringify({ type: 'ERROR', object: error.toStatus() })}\n`);

/** Under the name of the specification, and under the one that clients of today wait for. */
const initialEventsEnd = { 'k8s.io/initial-events-end': 'true', 'platform.io/initial-events-end': 'true' };

/** An object of the kind that has nothing but a version. */
function bookmarkObject({ schema, kind, apiVersion }: Kind, { revision, endsInitialEvents }: Bookmark): string {
  const metadata = { resourceVersion: String(revision), ...(endsInitialEvents && { annotations: initialEventsEnd }) };
  return JSON.stringify(decode(schema, { kind, apiVersion, metadata }, () => {}));
}
