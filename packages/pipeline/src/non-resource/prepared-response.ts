import { createHash } from 'node:crypto';
import type { ObjectSchema } from '@cluster-apiserver/model/schema';
import type { ApiResponse, OutgoingHeaders } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { compressResponse } from '../encoding/gzip.ts';
import type { SlicedBody } from '../encoding/sliced-body.ts';
import { joinBuffers } from '../body-source.ts';
import { contentTypes, type Encoding, encode } from '../encoding/encode.ts';
import { negotiateDocument } from '../encoding/negotiate.ts';

/** A response body that is the same for all clients and built once. */
export interface PreparedBody {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Depends only on the bytes, so all replicas of one version return the same ETag. */
  readonly hash: string;
}

export const prepareBody = (contentType: string, content: string | Buffer): PreparedBody => {
  const bytes = Buffer.from(content);
  return { contentType, bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
};

/** The same of a body that is generated in slices. */
export async function prepareSlices(contentType: string, slices: SlicedBody): Promise<PreparedBody> {
  const hash = createHash('sha512');
  const whole: Buffer[] = [];
  for (let slice = await slices.next(); slice; slice = await slices.next()) {
    hash.update(slice);
    whole.push(slice);
  }
  return { contentType, bytes: joinBuffers(whole), hash: hash.digest('hex').toUpperCase() };
}

/** One value in all encodings. JSON is encoded at once, the others on the first request. */
export interface PreparedEncodings {
  readonly json: PreparedBody;
  readonly hasProtobuf: boolean;
  in(encoding: Encoding): PreparedBody;
}

/** What a value is in protobuf. */
export interface ProtobufForm {
  readonly schema: ObjectSchema;
  readonly value: object;
}

export function prepareEncodings(value: object, protobuf?: () => ProtobufForm): PreparedEncodings {
  const prepare = (encoding: Encoding): PreparedBody => {
    const { value: encoded, schema } = encoding === 'protobuf' && protobuf ? protobuf() : { value, schema: undefined };
    return prepareBody(contentTypes[encoding], encode(encoding, encoded, schema));
  };
  const json = prepare('json');
  const made = new Map<Encoding, PreparedBody>([['json', json]]);
  return {
    json,
    hasProtobuf: protobuf !== undefined,
    in: (encoding) => {
      const found = made.get(encoding) ?? prepare(encoding);
      made.set(encoding, found);
      return found;
    },
  };
}

/** Responds in the encoding that the client accepts. */
export const respondEncoded = (
  context: AuthenticatedContext,
  encodings: PreparedEncodings,
  headers?: OutgoingHeaders,
): ApiResponse => respondPrepared(context, encodings.in(negotiateDocument(context, encodings.hasProtobuf)), headers);

/** Responds with the bytes, or with 304 if the client already has them. */
export function respondPrepared(
  { request, auditId }: AuthenticatedContext,
  { contentType, bytes, hash }: PreparedBody,
  headers: OutgoingHeaders = {},
): ApiResponse {
  const etag = `"${hash}"`;
  const common = { 'audit-id': auditId, 'cache-control': 'no-cache, private', etag, vary: 'Accept', ...headers };
  if (matchesEtag(request.headerLines('if-none-match'), etag)) return { status: 304, headers: common };
  return compressResponse(request, { status: 200, headers: { ...common, 'content-type': contentType }, body: bytes });
}

/** Weak comparison, as RFC 9110 requires for If-None-Match: a compressing proxy marks the tag with `W/`. */
const matchesEtag = (lines: readonly string[], etag: string): boolean =>
  lines
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
