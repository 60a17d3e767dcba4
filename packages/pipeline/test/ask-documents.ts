/** Non-resource paths without a socket and without stages. */
import { LatencyTracker, requireValue, systemClock } from '@cluster-apiserver/base';
import type { LiveRoutes } from '../src/non-resource/live-routes.ts';
import { type NonResourceRoutes, createNonResourceRouter } from '../src/non-resource/router.ts';
import type { ApiRequest, ApiResponse } from '../src/exchange.ts';
import { parseRequestInfo } from '../src/request-info.ts';

export interface DocumentAnswer {
  readonly status: number;
  readonly headers: ApiResponse['headers'];
  readonly bytes: Buffer;
  readonly text: string;
}

export type AskDocument = (
  target: string,
  headers?: Readonly<Record<string, string>>,
  method?: string,
) => Promise<DocumentAnswer>;

/** Sends a request as an authorized user. Errors are thrown, as earlier stages would get them. */
export function askDocuments(documents: NonResourceRoutes, live: readonly LiveRoutes[] = []): AskDocument {
  const handle = createNonResourceRouter(documents, live);
  return async (target, headers = {}, method = 'GET') => {
    const answer = await handle({
      request: {
        method,
        target,
        header: (name) => headers[name],
        headersFrom: () => [],
        clientCertificates: [],
        headerLines: (name) => (headers[name] === undefined ? [] : [headers[name]]),
      } as Partial<ApiRequest> as ApiRequest, // documents read nothing else
      latency: new LatencyTracker(systemClock),
      auditId: 'audit',
      info: parseRequestInfo(method, target),
      warnings: new Set(),
      user: { name: 'reader', uid: undefined, groups: [], extra: {} },
      call: {} as never, // and ask no storage
    });
    const bytes = answer.body instanceof Buffer ? answer.body : Buffer.alloc(0);
    return { status: answer.status, headers: answer.headers, bytes, text: bytes.toString() };
  };
}

/** The routes that there are now, as if they never changed. */
export const fixedRoutes = ({ paths, find }: LiveRoutes): NonResourceRoutes =>
  Object.fromEntries([...paths()].map((path) => [path, requireValue(find(path))]));
