import { inSpan, trackLatency } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { type ApiRequest, BodyMemoryError, BodyTooLargeError, BodyTooSlowError } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';

/** The maximum size of a request body. The storage accepts half of it; patches and options need no more. */
const bodyBytesMax = 3 * 1024 * 1024;

/** Reads the body, without a seat: otherwise clients that send slowly would block all others. */
export async function readBody({
  request,
  seat,
  call,
  latency,
}: Pick<AuthenticatedContext, 'request' | 'seat' | 'call' | 'latency'>): Promise<Buffer> {
  seat?.release();
  const received = call.trace ? inSpan(call, 'read body', () => receiveBody(request)) : receiveBody(request);
  const body = await trackLatency(latency, 'body', received);
  seat?.reacquire();
  return body;
}

async function receiveBody(request: ApiRequest): Promise<Buffer> {
  try {
    return await request.body(bodyBytesMax);
  } catch (error) {
    if (error instanceof BodyTooLargeError)
      throw new StatusError('RequestEntityTooLarge', `Request entity too large: ${error.message}`, undefined, {
        cause: error,
      });
    if (error instanceof BodyTooSlowError)
      throw new StatusError('RequestTimeout', 'the body of the request did not arrive in time', undefined, {
        cause: error,
      });
    if (error instanceof BodyMemoryError)
      throw new StatusError(
        'TooManyRequests',
        'too many request bodies are being received, please try again later',
        { retryAfterSeconds: 1 },
        { cause: error },
      );
    throw error;
  }
}
