import { createHash } from 'node:crypto';
import type { ApiResponse, OutgoingHeaders } from './exchange.ts';
import type { Authenticated } from './facts.ts';
import { compressed } from './forms/compressed.ts';
import { contentTypes, type Encoding, encoded } from './forms/encoded.ts';
import { documentEncoding } from './forms/negotiate.ts';

/** Bytes that are the same for everybody, made once. */
export interface Ready {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Depends on the bytes alone, so every replica of one version has the same. */
  readonly hash: string;
}

export const ready = (contentType: string, content: string | Buffer): Ready => {
  const bytes = Buffer.from(content);
  return { contentType, bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
};

/** The same value in every form. JSON, which programs ask for, is made at once; what people read, when it is asked for. */
export interface ReadyForms {
  readonly json: Ready;
  in(encoding: Encoding): Ready;
}

export function readyForms(value: object): ReadyForms {
  const json = written('json', value);
  const made = new Map<Encoding, Ready>([['json', json]]);
  return {
    json,
    in: (encoding) => {
      const found = made.get(encoding) ?? written(encoding, value);
      made.set(encoding, found);
      return found;
    },
  };
}

const written = (encoding: Encoding, value: object): Ready => ready(contentTypes[encoding], encoded(encoding, value));

/** The document in the form that the client asks for. */
export const answerInForm = (facts: Authenticated, forms: ReadyForms, headers?: OutgoingHeaders): ApiResponse =>
  answerReady(facts, forms.in(documentEncoding(facts)), headers);

/** The bytes, or that the client has them already. */
export function answerReady(
  { request, auditId }: Authenticated,
  { contentType, bytes, hash }: Ready,
  headers: OutgoingHeaders = {},
): ApiResponse {
  const etag = `"${hash}"`;
  const common = { 'audit-id': auditId, 'cache-control': 'no-cache, private', etag, vary: 'Accept', ...headers };
  if (names(request.headerLines('if-none-match'), etag)) return { status: 304, headers: common };
  return compressed(request, { status: 200, headers: { ...common, 'content-type': contentType }, body: bytes });
}

/** Compared weakly, as the header asks for: a proxy that compresses marks the tag with `W/`. */
const names = (lines: readonly string[], etag: string): boolean =>
  lines
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
