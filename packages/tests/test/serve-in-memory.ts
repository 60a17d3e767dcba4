import type { Clock, Random } from '@cluster-apiserver/base';
import type { Authorizer } from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import { type OpenPipeline, openPipeline } from '../../pipeline/test/open-pipeline.ts';

/** All kinds behind the whole pipeline, without a socket and without etcd: tables of requests cost little. */
export interface InMemory extends Omit<OpenPipeline, 'ask'> {
  ask(method: string, target: string, body?: string | Buffer, type?: string): Promise<ApiResponse>;
}

interface InMemoryOptions {
  readonly clock?: Clock;
  readonly random?: Random;
  /** Whether everybody may delete what cannot be read. */
  readonly deletesUnreadable?: boolean;
}

const allowAll: Authorizer = { authorize: () => ({ verdict: 'allow' }) };

export async function serveInMemory({ deletesUnreadable, ...options }: InMemoryOptions = {}): Promise<InMemory> {
  const pipeline = await openPipeline({
    ...options,
    kinds: kinds({ eventLifetimeSeconds: 3_600 }),
    ...(deletesUnreadable && { routes: { unsafeDeletionAuthorizer: allowAll } }),
  });
  return {
    ...pipeline,
    ask: (method, target, body = '', type = 'application/json') =>
      pipeline.ask(method, target, { body, headers: { 'content-type': type } }),
  };
}
