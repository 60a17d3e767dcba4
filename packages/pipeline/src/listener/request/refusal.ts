import { STATUS_CODES } from 'node:http';
import type { ApiResponse } from '../../exchange.ts';

/** The status codes of requests that are refused before the handler chain. */
export type RefusalStatus = 400 | 401 | 405 | 408 | 417 | 429 | 431 | 500;

const reasons: Readonly<Record<RefusalStatus, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  405: 'MethodNotAllowed',
  408: 'Timeout',
  417: 'BadRequest',
  429: 'TooManyRequests',
  431: 'BadRequest',
  500: 'InternalError',
};

export function createRefusal(status: RefusalStatus, message: string): ApiResponse & { readonly body: Buffer } {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: reasons[status],
    code: status,
  };
  return {
    status,
    headers: { 'Content-Type': 'application/json', ...(status === 429 && { 'Retry-After': '1' }) },
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** The same as raw bytes, for connections without a parsed request. */
export function createRawRefusal(
  status: RefusalStatus,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Buffer {
  const { body: bytes } = createRefusal(status, message);
  const head =
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json\r\n` +
    Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('') +
    `Content-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes]);
}
