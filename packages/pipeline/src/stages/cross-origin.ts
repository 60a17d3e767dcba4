import { StatusError } from '@cluster-apiserver/model';
import type { ApiRequest, ApiResponse, Handler } from '../exchange.ts';
import type { ReceivedContext, RequestInfoContext } from '../request-context.ts';

/** Whether pages of an origin may ask us from a browser. */
export type AllowedOrigin = (origin: string) => boolean;

/**
 * Tells browsers that pages of these origins may read our answers. It stands outside of everything else: a preflight
 * carries no name, and errors are to be read, too.
 */
export const addCorsHeaders =
  (isAllowed: AllowedOrigin) =>
  (next: Handler<ReceivedContext>): Handler<ReceivedContext> =>
  (context) => {
    const origin = context.request.header('origin');
    if (origin === undefined || !isAllowed(origin)) return next(context);
    const headers = { ...corsHeaders, 'access-control-allow-origin': origin };
    if (context.request.method === 'OPTIONS') return { status: 204, headers };
    const shared = (response: ApiResponse): ApiResponse => ({
      ...response,
      headers: { ...response.headers, ...headers },
    });
    const response = next(context);
    return response instanceof Promise ? response.then(shared) : shared(response);
  };

const corsHeaders = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
};

/**
 * Refuses WebSockets and writes of pages of other origins (CSRF). A browser sends along what it can prove about its
 * user, such as a client certificate, and asks nobody before it opens a WebSocket or sends a simple POST for a page:
 * the page would act in that user's name. Clients other than browsers send neither of the headers that are checked.
 * See docs/decisions/0024-bounds-of-requests.md.
 */
export const rejectForeignOrigins =
  (isAllowed: AllowedOrigin) =>
  (next: Handler<RequestInfoContext>): Handler<RequestInfoContext> =>
  (context) => {
    const { request } = context;
    if (request.isWebSocket) requireOriginOfWebSocket(request, isAllowed);
    else if (!safeMethods.has(request.method)) requireOriginOfWrite(request, isAllowed);
    return next(context);
  };

/** A browser sends these for any page, and nothing changes by them. */
const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

function requireOriginOfWebSocket(request: ApiRequest, isAllowed: AllowedOrigin): void {
  const origin = request.header('origin');
  if (origin === undefined) throw new StatusError('Forbidden', 'a WebSocket needs an Origin header', {});
  if (!isSameOrigin(origin, request) && !isAllowed(origin))
    throw new StatusError('Forbidden', `WebSockets are not opened for the origin ${JSON.stringify(origin)}`, {});
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

/** The page came from the address at which we are asked. HTTP/2 names it in a pseudo-header. */
function isSameOrigin(origin: string, request: ApiRequest): boolean {
  const ours = URL.parse(`https://${request.header('host') ?? request.header(':authority')}`);
  return ours !== null && ours.origin === URL.parse(origin)?.origin;
}
