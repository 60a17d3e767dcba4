import { requireValue } from '@cluster-apiserver/base';
import type { ApiResponse } from '../../exchange.ts';

/** Names and values alternate, which Node writes without lookups. */
export function rawHeadersOf(headers: ApiResponse['headers'], status: number, bodyBytes: number | undefined): string[] {
  const head: string[] = [];
  for (const name in headers) {
    const value = requireValue(headers[name]);
    if (typeof value === 'string') head.push(name, value);
    else for (const line of value) head.push(name, line);
  }
  if (bodyBytes !== undefined && status !== 204 && status !== 304) head.push('Content-Length', String(bodyBytes));
  return head;
}
