import { StatusError } from '@cluster-apiserver/model';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Received, Understood } from '../facts.ts';

/** Whether pages of an origin may ask us from a browser. */
export type AllowedOrigin = (origin: string) => boolean;

/**
 * Tells browsers that pages of these origins may read our answers. It stands outside of everything else: a preflight
 * carries no name, and errors are to be read, too.
 */
export const shareWithOrigins =
  (isAllowed: AllowedOrigin) =>
  (next: Handler<Received>): Handler<Received> =>
  (facts) => {
    const origin = facts.request.header('origin');
    if (origin === undefined || !isAllowed(origin)) return next(facts);
    const headers = { ...sharing, 'access-control-allow-origin': origin };
    if (facts.request.method === 'OPTIONS') return { status: 204, headers };
    const shared = (response: ApiResponse): ApiResponse => ({
      ...response,
      headers: { ...response.headers, ...headers },
    });
    const response = next(facts);
    return response instanceof Promise ? response.then(shared) : shared(response);
  };

const sharing = {
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
};

/**
 * Refuses a WebSocket to pages of other origins. A browser asks nobody before it opens one for a page, and sends along
 * what it can prove about its user, such as a client certificate: the page would read in that user's name.
 */
export const refuseForeignWebSockets =
  (isAllowed: AllowedOrigin) =>
  (next: Handler<Understood>): Handler<Understood> =>
  (facts) => {
    const { request } = facts;
    if (request.webSocket) {
      const origin = request.header('origin');
      if (origin === undefined) throw new StatusError('Forbidden', 'a WebSocket needs an Origin header', {});
      if (!isOurs(origin, request.header('host')) && !isAllowed(origin))
        throw new StatusError('Forbidden', `WebSockets are not opened for the origin ${JSON.stringify(origin)}`, {});
    }
    return next(facts);
  };

/** The page came from the address at which we are asked. */
function isOurs(origin: string, host: string | undefined): boolean {
  const ours = URL.parse(`https://${host}`);
  return ours !== null && ours.origin === URL.parse(origin)?.origin;
}
