import type { Clock } from '@cluster-apiserver/base';
import https from 'node:https';

export interface Probe {
  ready(port: number): Promise<boolean>;
  close(): void;
}

/** A replica that needs longer to say that it is ready is not. */
const answerTimeoutMs = 1_000;

/** Asks replicas whether they are ready, over connections that are kept: five handshakes a second would cost a replica more than the answers. */
export function createProbe(ca: string, token: string): Probe {
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 1 });
  const ask = (port: number, again: boolean): Promise<boolean> =>
    new Promise((resolve) => {
      const request = https.get(
        {
          agent,
          host: '127.0.0.1',
          port,
          path: '/readyz',
          headers: { authorization: `Bearer ${token}` },
          timeout: answerTimeoutMs,
        },
        (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode === 200));
          response.on('error', () => resolve(false));
        },
      );
      request.on('timeout', () => request.destroy());
      // A kept connection may have been closed a moment ago, which says nothing about the replica: a new one decides.
      request.on('error', () => (request.reusedSocket && !again ? resolve(ask(port, true)) : resolve(false)));
    });
  return { ready: (port) => ask(port, false), close: () => agent.destroy() };
}

/** How soon a replica that stops being ready gets no new connections. */
const intervalMs = 200;

/** Asks again and again, until the returned function is called. */
export function watchReadiness(
  port: number,
  { ready }: Probe,
  clock: Clock,
  report: (ready: boolean) => void,
): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    const now = await ready(port);
    if (stopped) return;
    report(now);
    cancel = clock.after(intervalMs, () => void look());
  };
  void look();
  return () => {
    stopped = true;
    cancel();
  };
}
