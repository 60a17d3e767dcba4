import { formatYaml, itemForm, type Kind, type Status, type StatusError, typePrefix } from '@cluster-apiserver/model';
import type { ObjectList, Outcome } from '@cluster-apiserver/registry';
import type { ApiRequest, ApiResponse, OutgoingHeaders } from './exchange.ts';
import type { Understood } from './facts.ts';
import { errorForm, type Form, negotiated } from './negotiate.ts';
import { warningHeaders } from './warnings.ts';

const contentTypes: Record<Form, string> = {
  json: 'application/json',
  prettyJson: 'application/json',
  yaml: 'application/yaml',
};
const newline = Buffer.from('\n');

/** An object, as a verb gave it. */
export const objectResponse = (facts: Understood, status: number, outcome: Outcome): ApiResponse =>
  inForm(facts, status, Buffer.concat([outcome.json, newline]));

export const statusResponse = (facts: Understood, code: number, status: Status): ApiResponse =>
  inForm(facts, code, Buffer.from(`${JSON.stringify(status)}\n`));

/** A list joins the bytes of its objects; nothing of them is parsed. */
export function listResponse(
  facts: Understood,
  kind: Kind,
  { items, revision, continue: token, remainingItemCount }: ObjectList,
): ApiResponse {
  const prefix = typePrefix(kind.kind, kind.apiVersion);
  const head = {
    kind: `${kind.kind}List`,
    apiVersion: kind.apiVersion,
    metadata: { resourceVersion: String(revision), continue: token, remainingItemCount },
  };
  const parts: Buffer[] = [Buffer.from(`${JSON.stringify(head).slice(0, -1)},"items":[`)];
  items.forEach((item, index) => {
    if (index > 0) parts.push(comma);
    parts.push(itemForm(item.storedBytes, String(item.revision), prefix));
  });
  parts.push(listEnd);
  return inForm(facts, 200, parts);
}

const comma = Buffer.from(',');
const listEnd = Buffer.from(']}\n');

/** One buffer leaves in one write; several are for what is too large to be joined. */
function inForm(facts: Understood, status: number, json: Buffer | readonly Buffer[]): ApiResponse {
  const form = negotiated(facts.request, facts.info.query);
  const warnings = facts.warnings.size > 0 ? { warning: warningHeaders(facts.warnings) } : undefined;
  return {
    status,
    headers: { ...standardHeaders(facts.auditId, form), ...warnings },
    body: form === 'json' ? json : written(form, json),
  };
}

function written(form: Form, json: Buffer | readonly Buffer[]): Buffer {
  const value: unknown = JSON.parse((Buffer.isBuffer(json) ? json : Buffer.concat(json)).toString());
  return Buffer.from(form === 'yaml' ? formatYaml(value) : `${JSON.stringify(value, null, 2)}\n`);
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
