import {
  decodeMessage,
  encodeMessage,
  readNested,
  type Reader,
  readerOf,
  readFields,
  readInt64,
  writeBytes,
  writeFlag,
  writeInt64,
  writeNested,
} from '../../protobuf/fields.ts';
import { noHeader, readHeader, type ResponseHeader } from './rpc.ts';
import { type KeyValue, readKeyValue } from './key-value.ts';

export const watchPath = '/etcdserverpb.Watch/Watch';

export interface WatchRequest {
  readonly key: Uint8Array | string;
  /** The first key after the range; undefined for a single key. */
  readonly end?: Uint8Array | undefined;
  readonly startRevision: number;
  /** Whether events contain the previous value. */
  readonly withPrevious: boolean;
}

export interface WatchEvent {
  readonly deleted: boolean;
  /** Of a deletion only the key and the revision. */
  readonly current: KeyValue;
  /** Undefined if there was no value before, or if it was compacted. */
  readonly previous: KeyValue | undefined;
}

/** A message with up to thousands of events, which are decoded one by one. */
export interface WatchMessage {
  readonly header: ResponseHeader;
  readonly created: boolean;
  readonly canceled: boolean;
  /** Not 0 if the watch was cancelled because it started before this revision. */
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** The next message continues this one, perhaps with events of the same revision. */
  readonly isFragment: boolean;
  /** The number of events in this message. */
  readonly size: number;
  readonly message: Buffer;
}

const eventsField = 11;

/**
 * Requests periodic progress notifications too, and large messages in fragments: otherwise etcd sends the events of up to
 * 1,000 revisions as one message.
 */
export const encodeWatchCreate = (request: WatchRequest): Uint8Array =>
  encodeMessage((to) =>
    writeNested(to, 1, (create) => {
      writeBytes(create, 1, request.key);
      if (request.end) writeBytes(create, 2, request.end);
      writeInt64(create, 3, request.startRevision);
      writeFlag(create, 4, true);
      writeFlag(create, 6, request.withPrevious);
      writeFlag(create, 8, true);
    }),
  );

export const encodeProgressRequest = (): Uint8Array => encodeMessage((to) => writeNested(to, 3, () => {}));

export function decodeWatchMessage(message: Buffer): WatchMessage {
  let header = noHeader;
  let created = false;
  let canceled = false;
  let compactRevision = 0;
  let cancelReason = '';
  let isFragment = false;
  let size = 0;
  decodeMessage(message, (field, reader) => {
    if (field === 1) header = readHeader(reader);
    else if (field === 3) created = reader.bool();
    else if (field === 4) canceled = reader.bool();
    else if (field === 5) compactRevision = readInt64(reader);
    else if (field === 6) cancelReason = reader.string();
    else if (field === 7) isFragment = reader.bool();
    else {
      if (field === eventsField) size++;
      return false;
    }
    return true;
  });
  return { header, created, canceled, compactRevision, cancelReason, isFragment, size, message };
}

export function* eventsOfMessage({ message }: WatchMessage): Generator<WatchEvent> {
  const reader = readerOf(message);
  while (reader.pos < message.length) {
    const tag = reader.uint32();
    if (tag >>> 3 === eventsField) yield readNested(reader, readEvent);
    else reader.skipType(tag & 7);
  }
}

function readEvent(reader: Reader, end: number): WatchEvent {
  let deleted = false;
  let current: KeyValue | undefined;
  let previous: KeyValue | undefined;
  readFields(reader, end, (field) => {
    if (field === 1) deleted = reader.uint32() === 1;
    else if (field === 2) current = readNested(reader, readKeyValue);
    else if (field === 3) previous = readNested(reader, readKeyValue);
    else return false;
    return true;
  });
  if (!current) throw new Error('an event of etcd names no key');
  return { deleted, current, previous };
}
