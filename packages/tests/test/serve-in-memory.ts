import type { Authorizer } from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import { lampKind } from './custom-sample.ts';
import { type OpenPipeline, openPipeline, type PipelineOptions } from '../../pipeline/test/open-pipeline.ts';

/** All kinds, and a custom one, behind the whole pipeline, without sockets and etcd, so that tables of requests are cheap. */
export interface InMemoryServer extends OpenPipeline {
  request(method: string, target: string, body?: string | Buffer, type?: string): Promise<ApiResponse>;
}

interface InMemoryServerOptions extends Pick<PipelineOptions, 'clock' | 'random' | 'chain'> {
  /** Whether every user may delete unreadable objects. */
  readonly deletesUnreadable?: boolean;
}

const allowAll: Authorizer = { authorize: () => ({ verdict: 'allow' }) };

export async function serveInMemory({
  deletesUnreadable,
  ...options
}: InMemoryServerOptions = {}): Promise<InMemoryServer> {
  const pipeline = await openPipeline({
    ...options,
    kinds: [...kinds({ eventLifetimeSeconds: 3_600 }), lampKind],
    ...(deletesUnreadable && { routes: { unsafeDeletionAuthorizer: allowAll } }),
  });
  return {
    ...pipeline,
    request: (method, target, body = '', type = 'application/json') =>
      pipeline.ask(method, target, { body, headers: { 'content-type': type } }),
  };
}
