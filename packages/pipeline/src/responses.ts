import { type Clock, requireValue, trackLatency } from '@cluster-apiserver/base';
import type { Status, StatusError } from '@cluster-apiserver/model';
import type { KubeObject, EncodableKind } from '@cluster-apiserver/model/kind';
import { statusSchema } from '@cluster-apiserver/model/schema';
import {
  convertBefore,
  isConvertedBefore,
  type ObjectList,
  type Outcome,
  type Resource,
} from '@cluster-apiserver/registry';
import type { BodySource, ReadyBody } from './body-source.ts';
import type { ApiResponse, OutgoingHeaders } from './exchange.ts';
import type { AuthenticatedContext, ReceivedContext, RequestInfoContext } from './request-context.ts';
import { compressResponse } from './encoding/gzip.ts';
import { contentTypes, type Encoding, encode } from './encoding/encode.ts';
import { countCharacters } from './encoding/join-items.ts';
import { listBody, listJson } from './encoding/list-body.ts';
import { negotiateError, type ResponseFormat } from './encoding/negotiate.ts';
import { unstoredObjectBody, unstoredObjectJson, objectBody } from './encoding/object-body.ts';
import { objectJson } from './encoding/object-json.ts';
import type { EncodableList, EncodableObject } from './encoding/served-form.ts';
import { warningHeaders } from './warnings.ts';

export const objectResponse = (
  context: AuthenticatedContext,
  resource: Resource,
  format: ResponseFormat,
  status: number,
  outcome: Outcome,
): ApiResponse | Promise<ApiResponse> => {
  if (!isConvertedBefore(resource)) return encodedObject(context, resource, format, status, outcome);
  return convertBefore(resource, [outcome], context.call).then(([only]) =>
    encodedObject(context, resource, format, status, requireValue(only, 'a conversion leaves out no object')),
  );
};

function encodedObject(
  context: AuthenticatedContext,
  resource: Resource,
  format: ResponseFormat,
  status: number,
  object: EncodableObject,
): ApiResponse | Promise<ApiResponse> {
  if (context.audit?.wantsResponseObject) {
    const text = objectJson(resource, format.transform, object.json, { nowMs: resource.clock.now() });
    context.audit.logResponseObject(text, object.json.length);
  }
  return respond(context, format.encoding, status, objectBody(resource, format, object));
}

/** An object that was built for this response and is not stored, such as a review. */
export const unstoredObjectResponse = (
  context: RequestInfoContext,
  kind: EncodableKind,
  format: ResponseFormat,
  status: number,
  object: KubeObject,
  clock: Clock,
): ApiResponse | Promise<ApiResponse> => {
  if (context.audit?.wantsResponseObject) {
    const text = unstoredObjectJson(kind, format.transform, object, clock);
    context.audit.logResponseObject([text], text.length);
  }
  return respond(context, format.encoding, status, unstoredObjectBody(kind, format, object, clock));
};

/** A Status is never transformed into a table or metadata. */
export const statusResponse = (
  context: RequestInfoContext,
  { encoding }: ResponseFormat,
  code: number,
  status: Status,
): ApiResponse | Promise<ApiResponse> => {
  context.audit?.logResponseStatus(status);
  return respond(context, encoding, code, encode(encoding, status, statusSchema));
};

export const listResponse = (
  context: AuthenticatedContext,
  resource: Resource,
  format: ResponseFormat,
  list: ObjectList,
): ApiResponse | Promise<ApiResponse> => {
  if (!isConvertedBefore(resource)) return encodedList(context, resource, format, list);
  return convertBefore(resource, list.items, context.call).then((items) =>
    encodedList(context, resource, format, { ...list, items }),
  );
};

function encodedList(
  context: AuthenticatedContext,
  resource: Resource,
  format: ResponseFormat,
  list: EncodableList,
): ApiResponse | Promise<ApiResponse> {
  if (context.audit?.wantsResponseObject) {
    const text = listJson(resource, format.transform, list, resource.clock.now());
    context.audit.logResponseObject(text, countCharacters(list.items));
  }
  return respond(context, format.encoding, 200, listBody(resource, format, list));
}

function respond(
  context: RequestInfoContext,
  encoding: Encoding,
  status: number,
  body: ReadyBody | BodySource | Promise<ReadyBody>,
): ApiResponse | Promise<ApiResponse> {
  if (body instanceof Promise)
    return trackLatency(context.latency, 'encoding', body).then((bytes) => respond(context, encoding, status, bytes));
  const headers: Record<string, string | readonly string[]> = standardHeaders(context.auditId, encoding);
  if (context.warnings.size > 0) headers['warning'] = warningHeaders(context.warnings);
  return compressResponse(context.request, { status, headers, body });
}

const standardHeaders = (auditId: string, encoding: Encoding): Record<string, string> => ({
  'audit-id': auditId,
  'cache-control': 'no-cache, private',
  'content-type': contentTypes[encoding],
});

/** An error response, whichever stage throws the error. */
export function errorResponse(
  { request, auditId = '', info, warnings }: ReceivedContext & Partial<RequestInfoContext>,
  error: StatusError,
): ApiResponse {
  const encoding = negotiateError(request, info?.query);
  const headers: OutgoingHeaders = {
    ...standardHeaders(auditId, encoding),
    ...(error.code === 403 && { 'x-content-type-options': 'nosniff' }),
    ...(error.retryAfterSeconds !== undefined && { 'retry-after': String(error.retryAfterSeconds) }),
    ...(warnings && warnings.size > 0 && { warning: warningHeaders(warnings) }),
  };
  return { status: error.code, headers, body: encode(encoding, error.toStatus(), statusSchema) };
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
