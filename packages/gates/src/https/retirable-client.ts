import type { HttpsClient } from './https-client.ts';

/** A client that may still have requests in flight when it is replaced. */
export interface RetirableClient extends HttpsClient {
  /** Closes it once its last request has ended. */
  retire(): void;
}

export function makeRetirable(inner: HttpsClient): RetirableClient {
  let inFlight = 0;
  let isRetired = false;
  const closeIfUnused = (): void => {
    if (isRetired && inFlight === 0) inner.close();
  };
  return {
    send: async (request, call) => {
      inFlight++;
      try {
        return await inner.send(request, call);
      } finally {
        inFlight--;
        closeIfUnused();
      }
    },
    close: () => inner.close(),
    retire: () => {
      isRetired = true;
      closeIfUnused();
    },
  };
}
