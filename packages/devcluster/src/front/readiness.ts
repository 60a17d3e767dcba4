import type { Clock } from '@cluster-apiserver/base';
import https from 'node:https';

export interface Probe {
  ready(port: number): Promise<boolean>;
  close(): void;
}

/** Timeout of a readiness request; a slower replica counts as unready. */
const answerTimeoutMs = 1_000;

/** Requests /readyz over kept-alive connections: five TLS handshakes a second would cost more than the responses. */
export function createProbe(ca: string, token: string): Probe {
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 1 });
  const probe = (port: number, again: boolean): Promise<boolean> =>
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
      // A kept-alive connection may just have been closed by the replica: retry on a new one.
      request.on('error', () => (request.reusedSocket && !again ? resolve(probe(port, true)) : resolve(false)));
    });
  return { ready: (port) => probe(port, false), close: () => agent.destroy() };
}

/** Maximum delay until an unready replica gets no new connections. */
const intervalMs = 200;

/** Polls until the returned function is called. */
export function watchReadiness(port: number, probe: Probe, clock: Clock, report: (ready: boolean) => void): () => void {
  let stopped = false;
  let cancel = (): void => {};
  const look = async (): Promise<void> => {
    const now = await probe.ready(port);
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
