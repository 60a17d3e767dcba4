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
  const body = inSpan(call, 'read body', () => request.body(bodyBytesMax));
  // One that has arrived keeps its seat: with others waiting, it would have to wait again.
  if (!(body instanceof Promise)) return body;
  seat?.release();
  return chain(trackLatency(latency, 'body', body), (bytes) => {
    const wait = seat?.reacquire();
    return wait instanceof Promise ? wait.then(() => bytes) : bytes;
  });
}
