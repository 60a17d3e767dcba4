import { bytesOf, formatYaml, type Kind, type Status, type StatusError } from '@cluster-apiserver/model';
import type { ObjectList, Outcome } from '@cluster-apiserver/registry';
import type { ApiRequest, ApiResponse, Bytes, OutgoingHeaders } from './exchange.ts';
import type { Understood } from './facts.ts';
import { listBody } from './list-body.ts';
import { errorForm, type Form, negotiated } from './negotiate.ts';
import { warningHeaders } from './warnings.ts';

const contentTypes: Record<Form, string> = {
  json: 'application/json',
  prettyJson: 'application/json',
  yaml: 'application/yaml',
};

/** An object, as a verb gave it. */
export const objectResponse = (facts: Understood, status: number, outcome: Outcome): ApiResponse =>
  inForm(facts, status, `${outcome.json}\n`);

export const statusResponse = (facts: Understood, code: number, status: Status): ApiResponse =>
  inForm(facts, code, Buffer.from(`${JSON.stringify(status)}\n`));

export const listResponse = (facts: Understood, kind: Kind, list: ObjectList): ApiResponse =>
  inForm(facts, 200, listBody(kind, list));

function inForm(facts: Understood, status: number, json: Bytes): ApiResponse {
  const form = negotiated(facts.request, facts.info.query);
  const warnings = facts.warnings.size > 0 ? { warning: warningHeaders(facts.warnings) } : undefined;
  return {
    status,
    headers: { ...standardHeaders(facts.auditId, form), ...warnings },
    body: form === 'json' ? json : written(form, json),
  };
}

function written(form: Form, json: Bytes): Buffer {
  const value: unknown = JSON.parse(wholeOf(json).toString());
  return Buffer.from(form === 'yaml' ? formatYaml(value) : `${JSON.stringify(value, null, 2)}\n`);
}

function wholeOf(json: Bytes): Buffer {
  if (typeof json === 'string') return bytesOf(json);
  return Buffer.isBuffer(json) ? json : Buffer.concat([...json.pieces(json.length)]);
}

const standardHeaders = (auditId: string, form: Form): Record<string, string> => ({
  'audit-id': auditId,
  'cache-control': 'no-cache, private',
  'content-type': contentTypes[form],
});

/** An answer that is not a success, whichever stage it comes from. */
export function errorResponse(
  request: ApiRequest,
  known: { readonly auditId?: string; readonly query?: URLSearchParams; readonly warnings?: ReadonlySet<string> },
  error: StatusError,
): ApiResponse {
  const form = errorForm(request, known.query);
  const headers: OutgoingHeaders = {
    ...standardHeaders(known.auditId ?? '', form),
    ...(error.code === 403 && { 'x-content-type-options': 'nosniff' }),
    ...(error.retryAfterSeconds !== undefined && { 'retry-after': String(error.retryAfterSeconds) }),
    ...(known.warnings && known.warnings.size > 0 && { warning: warningHeaders(known.warnings) }),
  };
  const json = Buffer.from(`${JSON.stringify(error.toStatus())}\n`);
  return { status: error.code, headers, body: form === 'json' ? json : written(form, json) };
}

export const textResponse = (
  auditId: string,
  status: number,
  body: string,
  headers: OutgoingHeaders = {},
): ApiResponse => ({
  status,
  headers: {
    'audit-id': auditId,
    'cache-control': 'no-cache, private',
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
    ...headers,
  },
  body: Buffer.from(body),
});
