import { createHash } from 'node:crypto';
import { formatYaml } from '@cluster-apiserver/model';
import type { ApiResponse, OutgoingHeaders } from './exchange.ts';
import type { Authenticated } from './facts.ts';
import { type Form, negotiated } from './negotiate.ts';

/** Bytes that are the same for everybody, made once. */
export interface Ready {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Depends on the bytes alone, so every replica of one version has the same. */
  readonly hash: string;
}

export const ready = (contentType: string, text: string): Ready => {
  const bytes = Buffer.from(text);
  return { contentType, bytes, hash: createHash('sha512').update(bytes).digest('hex').toUpperCase() };
};

/** The same value in every form. JSON, which programs ask for, is made at once; what people read, when it is asked for. */
export interface ReadyForms {
  readonly json: Ready;
  in(form: Form): Ready;
}

export function readyForms(value: unknown): ReadyForms {
  const json = ready('application/json', `${JSON.stringify(value)}\n`);
  const made = new Map<Form, Ready>([['json', json]]);
  return {
    json,
    in: (form) => {
      const found = made.get(form) ?? written(form, value);
      made.set(form, found);
      return found;
    },
  };
}

const written = (form: Form, value: unknown): Ready =>
  form === 'yaml'
    ? ready('application/yaml', formatYaml(value))
    : ready('application/json', `${JSON.stringify(value, null, 2)}\n`);

/** The document in the form that the client asks for. */
export const answerInForm = (facts: Authenticated, forms: ReadyForms, headers?: OutgoingHeaders): ApiResponse =>
  answerReady(facts, forms.in(negotiated(facts.request, facts.info.query)), headers);

/** The bytes, or that the client has them already. */
export function answerReady(
  { request, auditId }: Authenticated,
  { contentType, bytes, hash }: Ready,
  headers: OutgoingHeaders = {},
): ApiResponse {
  const etag = `"${hash}"`;
  const common = { 'audit-id': auditId, 'cache-control': 'no-cache, private', etag, vary: 'Accept', ...headers };
  if (names(request.headerLines('if-none-match'), etag)) return { status: 304, headers: common };
  return { status: 200, headers: { ...common, 'content-type': contentType }, body: bytes };
}

/** Compared weakly, as the header asks for: a proxy that compresses marks the tag with `W/`. */
const names = (lines: readonly string[], etag: string): boolean =>
  lines
    .flatMap((line) => line.split(','))
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*');
