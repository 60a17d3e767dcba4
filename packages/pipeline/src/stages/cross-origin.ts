import { StatusError } from '@cluster-apiserver/model';
import type { ApiRequest, ApiResponse } from '../exchange.ts';

/** Whether pages of this origin may send requests. */
export type AllowedOrigin = (origin: string) => boolean;

/** Whether the request is of a page of an allowed origin. */
export function allowsPage(request: ApiRequest, isAllowed: AllowedOrigin): boolean {
  const origin = request.header('origin');
  return origin !== undefined && isAllowed(origin);
}

/** Adds the CORS headers if the request is of a page of an allowed origin, which may read errors, too. */
export function shareWithPage(response: ApiResponse, request: ApiRequest, isAllowed: AllowedOrigin): ApiResponse {
  const origin = request.header('origin');
  if (origin === undefined || !isAllowed(origin)) return response;
  return { ...response, headers: { ...response.headers, ...corsHeaders, 'access-control-allow-origin': origin } };
}

const corsHeaders = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
};

/**
 * Rejects WebSockets and writes of pages of other origins (CSRF). Browsers attach client certificates to any request,
 * and open WebSockets and send simple POST requests without a preflight, so a foreign page could act in the user's
 * name. Other clients send neither of the checked headers. See docs/decisions/0024-requests.md.
 */
export function requireKnownOrigin(request: ApiRequest, isAllowed: AllowedOrigin): void {
  if (request.isWebSocket) requireOriginOfWebSocket(request, isAllowed);
  else if (!safeMethods.has(request.method)) requireOriginOfWrite(request, isAllowed);
}

/** Browsers send these for any page, and they change nothing. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

function requireOriginOfWebSocket(request: ApiRequest, isAllowed: AllowedOrigin): void {
  const origin = request.header('origin');
  if (origin === undefined) throw new StatusError('Forbidden', 'a WebSocket requires an Origin header', {});
  if (!isSameOrigin(origin, request) && !isAllowed(origin))
    throw new StatusError('Forbidden', `WebSockets are not accepted from the origin ${JSON.stringify(origin)}`, {});
}

function requireOriginOfWrite(request: ApiRequest, isAllowed: AllowedOrigin): void {
  const origin = request.header('origin');
  if (origin !== undefined) {
    if (!isSameOrigin(origin, request) && !isAllowed(origin))
      throw new StatusError('Forbidden', `writes are not accepted from the origin ${JSON.stringify(origin)}`, {});
    return;
  }
  const site = request.header('sec-fetch-site');
  if (site === 'cross-site' || site === 'same-site')
    throw new StatusError('Forbidden', 'writes are not accepted from pages of other origins', {});
}

/** Whether the page has the origin of this server. HTTP/2 has the host in a pseudo-header. */
function isSameOrigin(origin: string, request: ApiRequest): boolean {
  const ours = URL.parse(`https://${request.header('host') ?? request.header(':authority')}`);
  return ours !== null && ours.origin === URL.parse(origin)?.origin;
}
