import { StatusError } from '@cluster-apiserver/model';
import { type Request, type Response, Router } from 'express';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { textResponse } from '../responses.ts';

/** What answers a path that is no resource. The parameters are the named parts of its pattern, and `paths` all patterns. */
export type NonResourceHandler = (
  context: AuthenticatedContext,
  parameters: Readonly<Record<string, string>>,
  paths: readonly string[],
) => ApiResponse | Promise<ApiResponse>;

export type NonResourceRoutes = Readonly<Record<string, NonResourceHandler>>;

/**
 * Express's router over the paths that are no resources: health, metrics and what can be asked. It sees no socket, only
 * the method and the path of the exchange, so it serves both protocols and cannot be confused by either.
 */
export function createNonResourceRouter(documents: NonResourceRoutes): Handler<AuthenticatedContext> {
  const router = Router({ caseSensitive: true, strict: true });
  const paths = Object.keys(documents);
  for (const [pattern, document] of Object.entries(documents)) {
    // Every method, because the router would answer OPTIONS by itself, and into a socket that it does not have.
    router.all(pattern, (request: Request, response: Response) => {
      const { context, answer, fail } = response as unknown as PendingRequest;
      Promise.resolve()
        .then(() => (isReadMethod(request.method) ? document(context, parametersOf(request), paths) : notAllowed()))
        .then(answer, fail);
    });
  }
  return (context) =>
    new Promise<ApiResponse>((answer, fail) => {
      const journey: PendingRequest = { context, answer, fail };
      // The router reads method and url and hands the rest through to the document untouched.
      router(
        { method: context.request.method, url: encodePath(context.info.path) } as Request,
        journey as unknown as Response,
        (error?: unknown) => (error ? fail(error) : answer(notFound(context))),
      );
    });
}

/**
 * The decoded path, which authorization has judged, as a URL that the router decodes to exactly this path again. Each
 * segment is encoded by itself: a `?`, `#` or `%` in it must not become syntax.
 */
const encodePath = (path: string): string => path.split('/').map(encodeURIComponent).join('/');

const isReadMethod = (method: string): boolean => method === 'GET' || method === 'HEAD';

/** The router gives what a wildcard stands for in segments. */
const parametersOf = ({ params }: Request): Record<string, string> =>
  Object.fromEntries(Object.entries(params).map(([name, value]) => [name, [value].flat().join('/')]));

interface PendingRequest {
  readonly context: AuthenticatedContext;
  readonly answer: (response: ApiResponse) => void;
  readonly fail: (error: unknown) => void;
}

const notAllowed = (): ApiResponse => {
  throw new StatusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
};

const notFound = ({ auditId }: AuthenticatedContext): ApiResponse => textResponse(auditId, 404, '404 page not found\n');
