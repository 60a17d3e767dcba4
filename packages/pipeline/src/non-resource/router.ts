import { StatusError } from '@cluster-apiserver/model';
import { type Request, type Response, Router } from 'express';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { textResponse } from '../responses.ts';
import type { LiveRoutes, NonResourceHandler } from './live-routes.ts';

export type NonResourceRoutes = Readonly<Record<string, NonResourceHandler>>;

/**
 * Routes non-resource paths (health, metrics, discovery …) with Express's router. The router sees only the method and
 * path of the request and no socket, so it serves both protocols and cannot desynchronize either.
 */
export function createNonResourceRouter(
  routes: NonResourceRoutes,
  live: readonly LiveRoutes[] = [],
): Handler<AuthenticatedContext> {
  const router = Router({ caseSensitive: true, strict: true });
  const fixedPaths = Object.keys(routes);
  const paths = (): readonly string[] => [...live.flatMap((one) => [...one.paths()]), ...fixedPaths];
  for (const [pattern, handler] of Object.entries(routes)) {
    // Registers every method: Express would respond to OPTIONS itself, and write into a socket that it does not have.
    router.all(pattern, (request: Request, response: Response<unknown, PendingRequest>) => {
      const { context, resolve, reject } = response.locals;
      Promise.resolve()
        .then(() => (isReadMethod(request.method) ? handler(context, parametersOf(request), paths) : notAllowed()))
        .then(resolve, reject);
    });
  }
  const fixed: Handler<AuthenticatedContext> = (context) =>
    new Promise<ApiResponse>((resolve, reject) => {
      const request = { method: context.request.method, url: encodePath(context.info.path) };
      const pending: PendingRequest = { context, resolve, reject };
      const response: Pick<Response, 'locals'> = { locals: pending };
      const next = (error?: unknown): void => (error ? reject(error) : resolve(notFound(context)));
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Express's router reads method and url, and passes the rest to the handler untouched.
      router(...([request, response, next] as Parameters<typeof router>));
    });
  return (context) => {
    for (const { find } of live) {
      const handler = find(context.info.path);
      if (handler) return isReadMethod(context.request.method) ? handler(context, noParameters, paths) : notAllowed();
    }
    return fixed(context);
  };
}

const noParameters = {};

/**
 * Encodes the authorized path so that Express decodes exactly this path again. Each segment is encoded by itself: a
 * `?`, `#` or `%` in it must not become syntax.
 */
const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

const isReadMethod = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** Express returns the segments that a wildcard matches as a list. */
const parametersOf = ({ params }: Request): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, [value].flat().join('/')]));

interface PendingRequest extends Record<string, unknown> {
  readonly context: AuthenticatedContext;
  readonly resolve: (response: ApiResponse) => void;
  readonly reject: (error: unknown) => void;
}

const notAllowed = (): ApiResponse => {
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
};

/** As in kube-apiserver, a document that does not exist is answered without a body. */
const notFound = ({ auditId, info }: AuthenticatedContext): ApiResponse =>
  info.path.startsWith('/openapi/v3/')
    ? { status: 404, headers: { 'audit-id': auditId, 'cache-control': 'no-cache, private' } }
    : textResponse(auditId, 404, '404 page not found\n');
