import { type Clock, trackLatency } from '@cluster-apiserver/base';
import {
  type KubeObject,
  type EncodableKind,
  type Status,
  type StatusError,
  statusSchema,
} from '@cluster-apiserver/model';
import type { ObjectList, Outcome, Resource } from '@cluster-apiserver/registry';
import type { ApiRequest, ApiResponse, Bytes, Flow, OutgoingHeaders } from './exchange.ts';
import type { Understood } from './facts.ts';
import { compressed } from './forms/compressed.ts';
import { contentTypes, type Encoding, encoded } from './forms/encoded.ts';
import { charactersOf } from './forms/joined-items.ts';
import { listBody, listText } from './forms/list-body.ts';
import { errorEncoding, type Form } from './forms/negotiate.ts';
import { madeObjectBody, madeObjectText, objectBody } from './forms/object-body.ts';
import { objectText } from './forms/object-text.ts';
import { warningHeaders } from './warnings.ts';

/** An object, as a verb gave it. */
export const objectResponse = (
  facts: Understood,
  resource: Resource,
  form: Form,
  status: number,
  outcome: Outcome,
): ApiResponse | Promise<ApiResponse> => {
  if (facts.audit?.wantsResponseObject) {
    const text = objectText(resource.served, form.shown, outcome.json, resource.clock.now());
    facts.audit.responseObject(text, outcome.json.length);
  }
  return answer(facts, form.encoding, status, objectBody(resource, form, outcome));
};

/** An object that was made for this answer and is stored nowhere. */
export const madeResponse = (
  facts: Understood,
  kind: EncodableKind,
  form: Form,
  status: number,
  object: KubeObject,
  clock: Clock,
): ApiResponse | Promise<ApiResponse> => {
  if (facts.audit?.wantsResponseObject) {
    const text = madeObjectText(kind, form.shown, object, clock);
    facts.audit.responseObject([text], text.length);
  }
  return answer(facts, form.encoding, status, madeObjectBody(kind, form, object, clock));
};

/** A Status is nothing but itself, whatever else would be shown. */
export const statusResponse = (
  facts: Understood,
  { encoding }: Form,
  code: number,
  status: Status,
): ApiResponse | Promise<ApiResponse> => {
  facts.audit?.responseStatus(status);
  return answer(facts, encoding, code, encoded(encoding, status, statusSchema));
};

export const listResponse = (
  facts: Understood,
  resource: Resource,
  form: Form,
  list: ObjectList,
): ApiResponse | Promise<ApiResponse> => {
  if (facts.audit?.wantsResponseObject) {
    const text = listText(resource.served, form.shown, list, resource.clock.now());
    facts.audit.responseObject(text, charactersOf(list.items));
  }
  return answer(facts, form.encoding, 200, listBody(resource, form, list));
};

function answer(
  facts: Understood,
  encoding: Encoding,
  status: number,
  body: Bytes | Flow | Promise<Bytes>,
): ApiResponse | Promise<ApiResponse> {
  if (body instanceof Promise)
    return trackLatency(facts.latency, 'encoding', body).then((bytes) => answer(facts, encoding, status, bytes));
  const warnings = facts.warnings.size > 0 ? { warning: warningHeaders(facts.warnings) } : undefined;
  const headers = { ...standardHeaders(facts.auditId, encoding), ...warnings };
  return compressed(facts.request, { status, headers, body });
}

const standardHeaders = (auditId: string, encoding: Encoding): Record<string, string> => ({
  'audit-id': auditId,
  'cache-control': 'no-cache, private',
  'content-type': contentTypes[encoding],
});

/** An answer that is not a success, whichever stage it comes from. */
export function errorResponse(
  request: ApiRequest,
  known: { readonly auditId?: string; readonly query?: URLSearchParams; readonly warnings?: ReadonlySet<string> },
  error: StatusError,
): ApiResponse {
  const encoding = errorEncoding(request, known.query);
  const headers: OutgoingHeaders = {
    ...standardHeaders(known.auditId ?? '', encoding),
    ...(error.code === 403 && { 'x-content-type-options': 'nosniff' }),
    ...(error.retryAfterSeconds !== undefined && { 'retry-after': String(error.retryAfterSeconds) }),
    ...(known.warnings && known.warnings.size > 0 && { warning: warningHeaders(known.warnings) }),
  };
  return { status: error.code, headers, body: encoded(encoding, error.toStatus(), statusSchema) };
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
