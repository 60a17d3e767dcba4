import { inSpan, trackLatency } from '@cluster-apiserver/base';
import type { AuthenticatedContext } from '../request-context.ts';

/** The maximum size of a request body. The storage accepts half of it; patches and options need no more. */
const bodyBytesMax = 3 * 1024 * 1024;

/** Reads the body, without a seat: otherwise clients that send slowly would block all others. */
export function readBody({
  request,
  seat,
  call,
  latency,
}: Pick<AuthenticatedContext, 'request' | 'seat' | 'call' | 'latency'>): Promise<Buffer> {
  seat?.release();
  const body = inSpan(call, 'read body', () => request.body(bodyBytesMax));
  const received = trackLatency(latency, 'body', body);
  if (!seat) return received;
  return received.then((bytes) => {
    seat.reacquire();
    return bytes;
  });
}
