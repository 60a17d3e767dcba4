import { type Clock, sleep } from '@cluster-apiserver/base';
import type { Log } from '@cluster-apiserver/telemetry';
import type { Server } from './assemble.ts';

/** Graceful shutdown: /readyz fails first so that load balancers react, then connections drain, then everything closes. */
export async function stop(
  server: Server,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<void> {
  const { shutdownDelayMs } = server;
  log.info('shutting down: no longer ready', { servingOnMs: shutdownDelayMs });
  server.beginShutdown();
  await sleep(clock, shutdownDelayMs);
  log.info('shutting down: waiting for requests in flight');
  await server.close();
  log.info('stopped');
}
