/** The messages of etcd's KV service. Field numbers are those of etcd's rpc.proto and kv.proto. */
import { invariant } from '@cluster-apiserver/base';
import type { Pieces } from '../../pieces.ts';
import {
  decodeMessage,
  encodeMessage,
  readNested,
  type Reader,
  readerOf,
  readFields,
  readInt64,
  type Writer,
  writeBytes,
  writeFlag,
  writeInt64,
  writeNested,
  writePieces,
} from '../../protobuf/fields.ts';
import { noHeader, readHeader, type ResponseHeader, type Rpc } from './rpc.ts';

/** A key and its value at one revision, as in etcd's API. */
export interface KeyValue {
  readonly key: string;
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
  /** 0 for a key without a lease. */
  readonly lease: number;
}

export interface RangeRequest {
  readonly key: Uint8Array | string;
  /** The first key after the range; undefined for a single key. */
  readonly end?: Uint8Array | undefined;
  readonly limit?: number;
  /** The revision to read; undefined for the latest. */
  readonly revision?: number | undefined;
  readonly countOnly?: boolean;
}

export interface RangeResponse {
  /** Contains the latest revision, not that of the request. */
  readonly header: ResponseHeader;
  readonly values: readonly KeyValue[];
  /** The number of keys in the range, including those beyond the limit. */
  readonly count: number;
}

/** A write with a condition. If the condition fails, the key is read instead. */
export interface ConditionalWrite {
  readonly key: string;
  /** The revision of the last write to the key; 0 if it must have no value. */
  readonly expected: number;
  /** Undefined for a deletion. */
  readonly value: Pieces | undefined;
  /** 0 for none. Others of the keys that are created with this one have it, too. */
  readonly lease: number;
  /** Another key, which must have no value. */
  readonly fenceKey?: string | undefined;
  /** Other keys, and the revisions of their last writes, 0 for none. Those with a value are written, too. */
  readonly others?: readonly OtherKey[] | undefined;
}

export interface OtherKey {
  readonly key: string;
  readonly revision: number;
  readonly value?: Pieces | undefined;
}

export interface TxnResponse {
  readonly applied: boolean;
  /** Contains the revision of the write, or the latest one if nothing was written. */
  readonly header: ResponseHeader;
  /** The value of the key that was read because the condition failed. */
  readonly current: KeyValue | undefined;
}

export const isTxnResponse = (response: unknown): response is TxnResponse =>
  typeof response === 'object' && response !== null && 'applied' in response && 'header' in response;

export const range: Rpc<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  encode: (request) => encodeMessage((to) => writeRange(to, request)),
  decode: (message) => {
    let header = noHeader;
    let count = 0;
    const values: KeyValue[] = [];
    decodeMessage(message, (field, reader) => {
      if (field === 1) header = readHeader(reader);
      else if (field === 2) values.push(readNested(reader, readKeyValue));
      else if (field === 4) count = readInt64(reader);
      else return false;
      return true;
    });
    return { header, values, count };
  },
  headerOf: ({ header }) => header,
};

/** Without a limit the response may have any size. */
export type PageRequest = RangeRequest & { readonly limit: number };

/** A response with thousands of values, which are decoded one by one. It may have fewer than were requested. */
export interface RangePage {
  readonly header: ResponseHeader;
  /** The number of keys in the range, including those beyond the limit. */
  readonly count: number;
  /** The number of values in this page. */
  readonly size: number;
  readonly last: KeyValue | undefined;
  readonly message: Buffer;
}

const rangeValuesField = 2;

/** A page that is too large for a slow etcd or network becomes small within the few attempts of one call. */
const pageReduction = 10;

export const rangePage: Rpc<PageRequest, RangePage> = {
  path: range.path,
  encode: range.encode,
  decode: (message) => {
    let header = noHeader;
    let count = 0;
    let size = 0;
    let lastAt = 0;
    decodeMessage(message, (field, reader) => {
      if (field === 1) header = readHeader(reader);
      else if (field === 4) count = readInt64(reader);
      else {
        if (field === rangeValuesField) {
          size++;
          lastAt = reader.pos;
        }
        return false;
      }
      return true;
    });
    const last = size === 0 ? undefined : readNested(readerOf(message.subarray(lastAt)), readKeyValue);
    return { header, count, size, last, message };
  },
  headerOf: ({ header }) => header,
  reduce: (request) => ({ ...request, limit: Math.max(1, Math.floor(request.limit / pageReduction)) }),
};

export function* valuesOfPage({ message }: RangePage): Generator<KeyValue> {
  const reader = readerOf(message);
  while (reader.pos < message.length) {
    const tag = reader.uint32();
    if (tag >>> 3 === rangeValuesField) yield readNested(reader, readKeyValue);
    else reader.skipType(tag & 7);
  }
}

/** The fields of a transaction, TxnRequest. */
const txnFields = { compare: 1, success: 2, failure: 3 } as const;

/** The fields of one operation in it, RequestOp. */
const operationFields = { range: 1, put: 2, deleteRange: 3 } as const;

/** The field of a deletion, DeleteRangeRequest, and of a compaction, CompactionRequest. */
const deletedKeyField = 1;
const compactedRevisionField = 1;

const compareWithModRevision = 2;

const empty = Buffer.alloc(0);

export const conditionalWrite: Rpc<ConditionalWrite, TxnResponse> = {
  path: '/etcdserverpb.KV/Txn',
  encode: ({ key, expected, value, lease, fenceKey, others = [] }) =>
    encodeMessage((to) => {
      writeCompare(to, key, expected);
      if (fenceKey !== undefined) writeCompare(to, fenceKey, 0);
      for (const other of others) writeCompare(to, other.key, other.revision);
      if (value === undefined) writeDeletion(to, key);
      else writePutOperation(to, key, value, lease);
      for (const other of others)
        if (other.value) writePutOperation(to, other.key, other.value, other.revision === 0 ? lease : 0);
      writeReadOperation(to, txnFields.failure, key);
    }),
  decode: readTxnResponse,
  headerOf: ({ header }) => header,
  takesData: ({ value }) => value !== undefined,
  // No key has this revision, but etcd checks the rights to everything in a transaction.
  withoutEffect: (write) => ({ ...write, expected: Number.MAX_SAFE_INTEGER, value: write.value && [empty], lease: 0 }),
};

export interface FenceRequest {
  /** The key to write, without a value. */
  readonly fenceKey: string;
  readonly lease: number;
  /** The key to read. */
  readonly key: string;
}

/** Writes one key and reads another in one transaction. */
export const fenceAndRead: Rpc<FenceRequest, TxnResponse> = {
  path: conditionalWrite.path,
  encode: ({ fenceKey, lease, key }) =>
    encodeMessage((to) => {
      writePutOperation(to, fenceKey, [], lease);
      writeReadOperation(to, txnFields.success, key);
    }),
  decode: readTxnResponse,
  headerOf: ({ header }) => header,
};

/** Compacts the history before a revision. The response is not needed. */
export const compact: Rpc<number, void> = {
  path: '/etcdserverpb.KV/Compact',
  encode: (revision) => encodeMessage((to) => writeInt64(to, compactedRevisionField, revision)),
  decode: () => undefined,
};

/** A reader of a Buffer returns Buffers that share its memory. */
function readBuffer(reader: Reader): Buffer {
  const bytes = reader.bytes();
  invariant(Buffer.isBuffer(bytes), 'the reader does not read a Buffer');
  return bytes;
}

export function readKeyValue(reader: Reader, end: number): KeyValue {
  let key = '';
  let value: Buffer = empty;
  let createRevision = 0;
  let modRevision = 0;
  let lease = 0;
  while (reader.pos < end) {
    const tag = reader.uint32();
    switch (tag >>> 3) {
      case 1:
        key = reader.string();
        break;
      case 2:
        createRevision = readInt64(reader);
        break;
      case 3:
        modRevision = readInt64(reader);
        break;
      case 5:
        value = readBuffer(reader);
        break;
      case 6:
        lease = readInt64(reader);
        break;
      default:
        reader.skipType(tag & 7);
    }
  }
  return { key, value, createRevision, modRevision, lease };
}

function readTxnResponse(message: Buffer): TxnResponse {
  let header = noHeader;
  let applied = false;
  let current: KeyValue | undefined;
  decodeMessage(message, (field, reader) => {
    if (field === 1) header = readHeader(reader);
    else if (field === 2) applied = reader.bool();
    else if (field === 3) current = readNested(reader, readFirstValue) ?? current;
    else return false;
    return true;
  });
  return { applied, header, current };
}

/** A ResponseOp: the first value of a range response (field 1). The responses of writes are not needed. */
function readFirstValue(reader: Reader, end: number): KeyValue | undefined {
  let first: KeyValue | undefined;
  readFields(reader, end, (operation) => {
    if (operation !== 1) return false;
    readNested(reader, (_, endOfRange) =>
      readFields(reader, endOfRange, (field) => {
        if (field !== 2) return false;
        first = readNested(reader, readKeyValue);
        return true;
      }),
    );
    return true;
  });
  return first;
}

/** Compare: result 0 (equal) is the default, target 2 is the modification revision. */
function writeCompare(to: Writer, key: string, expected: number): void {
  writeNested(to, txnFields.compare, (compare) => {
    writeInt64(compare, 2, compareWithModRevision);
    writeBytes(compare, 3, key);
    // Written even if it is 0, because the field belongs to a oneof.
    compare.uint32((6 << 3) | 0).int64(expected);
  });
}

function writePutOperation(to: Writer, key: string, value: Pieces, lease: number): void {
  writeNested(to, txnFields.success, (operation) =>
    writeNested(operation, operationFields.put, (request) => writePut(request, key, value, lease)),
  );
}

function writeDeletion(to: Writer, key: string): void {
  writeNested(to, txnFields.success, (operation) =>
    writeNested(operation, operationFields.deleteRange, (request) => writeBytes(request, deletedKeyField, key)),
  );
}

/** Reads the key after a success or a failure of the conditions. */
function writeReadOperation(to: Writer, outcome: (typeof txnFields)['success' | 'failure'], key: string): void {
  writeNested(to, outcome, (operation) =>
    writeNested(operation, operationFields.range, (request) => writeRange(request, { key })),
  );
}

function writeRange(to: Writer, request: RangeRequest): void {
  writeBytes(to, 1, request.key);
  if (request.end) writeBytes(to, 2, request.end);
  writeInt64(to, 3, request.limit ?? 0);
  writeInt64(to, 4, request.revision ?? 0);
  writeFlag(to, 9, request.countOnly ?? false);
}

function writePut(to: Writer, key: string, value: Pieces, lease: number): void {
  writeBytes(to, 1, key);
  writePieces(to, 2, value);
  writeInt64(to, 3, lease);
}
