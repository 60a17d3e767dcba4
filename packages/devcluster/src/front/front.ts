import { type Clock, CleanupStack } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { createBackends } from './backends.ts';
import { createProxy } from './proxy.ts';
import { type Probe, watchReadiness } from './readiness.ts';

export interface Front {
  /** Stops accepting connections; resolves when the last one has ended. */
  drain(): Promise<void>;
}

/** Opens the public address, which distributes connections to the replicas. */
export async function openFront(
  { listen, port }: { readonly listen: string; readonly port: number },
  replicas: readonly number[],
  probe: Probe,
  clock: Clock,
  say: (line: string) => void,
): Promise<Front> {
  const known = createBackends(replicas);
  const report = (replica: number, ready: boolean, why: string): void => {
    if (known.setReady(replica, ready))
      say(`127.0.0.1:${replica} ${ready ? 'takes' : 'gets no'} new connections: ${why}`);
  };
  const server = createProxy(known, clock, (replica) => report(replica, false, 'it refused one'));
  server.listen(port, listen);
  await once(server, 'listening');
  const cleanup = new CleanupStack();
  cleanup.defer('probe', () => probe.close());
  for (const replica of replicas) {
    const stop = watchReadiness(replica, probe, clock, (ready) =>
      report(replica, ready, ready ? 'it is ready' : 'it is not ready'),
    );
    cleanup.defer('readiness', stop);
  }
  return {
    drain: async () => {
      const closed = once(server, 'close');
      server.close();
      await cleanup.close();
      await closed;
    },
  };
}
