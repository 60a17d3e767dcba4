import { createHash } from 'node:crypto';
import type { ApiResponse, OutgoingHeaders } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { compressResponse } from '../encoding/gzip.ts';
import { contentTypes, type Encoding, encode } from '../encoding/encode.ts';
import { negotiateDocument } from '../encoding/negotiate.ts';

/** Bytes that are the same for everybody, made once. */
export interface PreparedBody {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Depends on the bytes alone, so every replica of one version has the same. */
  readonly hash: string;
}

export const prepareBody = (contentType: string, content: string | Buffer): PreparedBody => {
  const bytes = Buffer.from(content);
  return { contentType, bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
};

/** The same value in every form. JSON, which programs ask for, is made at once; what people read, when it is asked for. */
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

/** The document in the form that the client asks for. */
export const respondEncoded = (
  context: AuthenticatedContext,
  forms: PreparedEncodings,
  headers?: OutgoingHeaders,
): ApiResponse => respondPrepared(context, forms.in(negotiateDocument(context)), headers);

/** The bytes, or that the client has them already. */
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

/** Compared weakly, as the header asks for: a proxy that compresses marks the tag with `W/`. */
const matchesEtag = (lines: readonly string[], etag: string): boolean =>
  lines
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
