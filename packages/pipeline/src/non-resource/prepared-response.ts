import { createHash } from 'node:crypto';
import { invariant } from '@cluster-apiserver/base';
import { isJsonObject } from '@cluster-apiserver/model';
import type { ApiResponse, OutgoingHeaders } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { compressResponse } from '../encoding/gzip.ts';
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

/** One value in all encodings. YAML and indented JSON are encoded on the first request. */
export interface PreparedEncodings {
  readonly json: PreparedBody;
  in(encoding: Encoding): PreparedBody;
}

export const prepareEncodings = (value: object): PreparedEncodings => prepareEncodingsOf(JSON.stringify(value));

/** Only the JSON is kept: the value takes several times its memory. */
export function prepareEncodingsOf(text: string): PreparedEncodings {
  const json = prepareBody(contentTypes.json, `${text}\n`);
  const made = new Map<Encoding, PreparedBody>([['json', json]]);
  return {
    json,
    in: (encoding) => {
      let found = made.get(encoding);
      if (!found)
        made.set(encoding, (found = prepareBody(contentTypes[encoding], encode(encoding, valueOf({ json })))));
      return found;
    },
  };
}

export function valueOf({ json }: Pick<PreparedEncodings, 'json'>): object {
  const value: unknown = JSON.parse(json.bytes.toString());
  invariant(isJsonObject(value), 'documents are objects');
  return value;
}

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
