import { STATUS_CODES } from 'node:http';
import { type Reason, StatusError } from '@cluster-apiserver/model';
import type { ApiResponse } from '../../exchange.ts';

/** The status codes of requests that the listener refuses. */
export type RefusalStatus = 400 | 401 | 405 | 408 | 417 | 429 | 431 | 500;

const reasons: Readonly<Record<RefusalStatus, Reason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  405: 'MethodNotAllowed',
  408: 'Timeout',
  417: 'BadRequest',
  429: 'TooManyRequests',
  431: 'BadRequest',
  500: 'InternalError',
};

/** Why a request must not be handled. The handler chain records the refusal and responds with it. */
export const createRefusal = (status: RefusalStatus, message: string): StatusError =>
  new StatusError(reasons[status], message, status === 429 ? { retryAfterSeconds: 1 } : undefined, { code: status });

/** The response to a refused request without the handler chain. */
export const refusalResponse = (refusal: StatusError): ApiResponse & { readonly body: Buffer } => ({
  status: refusal.code,
  headers: {
    'Content-Type': 'application/json',
    ...(refusal.retryAfterSeconds !== undefined && { 'Retry-After': String(refusal.retryAfterSeconds) }),
  },
  body: Buffer.from(JSON.stringify(refusal.toStatus())),
});

/** The same as raw bytes, for connections without a parsed request. */
export function rawRefusalResponse(refusal: StatusError): Buffer {
  const { body: bytes } = refusalResponse(refusal);
  const head =
    `HTTP/1.1 ${refusal.code} ${STATUS_CODES[refusal.code]}\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}
