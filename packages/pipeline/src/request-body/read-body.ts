import { chain, inSpan, trackLatency } from '@cluster-apiserver/base';
import type { AuthenticatedContext } from '../request-context.ts';

/** The maximum size of a request body. The storage accepts half of it; patches and options need no more. */
const bodyBytesMax = 3 * 1024 * 1024;

/** Reads the body, without a seat: otherwise clients that send slowly would block all others. */
export function readBody({
  request,
  seat,
  call,
  latency,
}: Pick<AuthenticatedContext, 'request' | 'seat' | 'call' | 'latency'>): Buffer | Promise<Buffer> {
  seat?.release();
  const body = inSpan(call, 'read body', () => request.body(bodyBytesMax));
  return chain(trackLatency(latency, 'body', body), (bytes) => {
    seat?.reacquire();
    return bytes;
  });
}
