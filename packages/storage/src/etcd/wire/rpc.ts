import { requireValue } from '@cluster-apiserver/base';
import type { GrpcMethod } from '../../protobuf/grpc-method.ts';
import { type Reader, readFields, readInt64, readNested } from '../../protobuf/fields.ts';

/** A method of etcd's API. */
export interface Rpc<Request, Response> extends GrpcMethod<Request, Response> {
  /** The header of a response, which names its cluster and revision; undefined if the method needs no check. */
  headerOf?(response: Response): ResponseHeader;
  /** Whether etcd refuses the request when it is out of space. */
  takesData?(request: Request): boolean;
  /** The request for the next attempt, after one that got no response in time: less work, and useful as well. */
  reduce?(request: Request): Request;
  /** The same request such that it changes nothing, but needs the same rights. */
  withoutEffect?(request: Request): Request;
}

export interface ResponseHeader {
  readonly clusterId: ClusterId;
  /** The latest revision of the store. */
  readonly revision: number;
}

/** The leading 53 of its 64 bits, which distinguish clusters as well and fit into a number. */
export type ClusterId = number;

/** Every response of etcd has a header, which replaces this one. */
export const noHeader: ResponseHeader = { clusterId: 0, revision: 0 };

export const readHeader = (reader: Reader): ResponseHeader => readNested(reader, readHeaderFields);

function readHeaderFields(reader: Reader, end: number): ResponseHeader {
  let clusterId = 0;
  let revision = 0;
  readFields(reader, end, (field) => {
    if (field === 1) clusterId = readClusterId(reader);
    else if (field === 3) revision = readInt64(reader);
    else return false;
    return true;
  });
  return { clusterId, revision };
}

/** Rounds to the bits that a double holds. Every response has a cluster ID, so this allocates nothing. */
export function readClusterId(reader: Reader): ClusterId {
  let value = 0;
  for (let factor = 1; reader.pos < reader.len; factor *= 0x80) {
    const byte = requireValue(reader.buf[reader.pos++]);
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) break;
  }
  return value;
}

/** Member IDs use all 64 bits, so they are read as text. */
export function readMemberId(reader: Reader): string {
  const { low, high } = reader.uint64();
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)).toString();
}
