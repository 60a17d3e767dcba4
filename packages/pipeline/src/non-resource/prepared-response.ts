import { createHash } from 'node:crypto';
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

/** One value in all encodings. JSON is encoded at once, YAML and indented JSON on the first request. */
export interface PreparedEncodings {
  readonly json: PreparedBody;
  in(encoding: Encoding): PreparedBody;
}

export function prepareEncodings(value: object): PreparedEncodings {
  const json = prepare('json', value);
  const made = new Map<Encoding, PreparedBody>([['json', json]]);
  return {
    json,
    in: (encoding) => {
      const found = made.get(encoding) ?? prepare(encoding, value);
      made.set(encoding, found);
      return found;
    },
  };
}

const prepare = (encoding: Encoding, value: object): PreparedBody =>
  prepareBody(contentTypes[encoding], encode(encoding, value));

/** Responds in the encoding that the client accepts. */
export const respondEncoded = (
  context: AuthenticatedContext,
  encodings: PreparedEncodings,
  headers?: OutgoingHeaders,
): ApiResponse => respondPrepared(context, encodings.in(negotiateDocument(context)), headers);

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
