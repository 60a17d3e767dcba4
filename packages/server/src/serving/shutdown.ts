import type { Health } from '@cluster-apiserver/telemetry';

/** Adds the readiness check `shutdown`. It fails once the returned function has been called. */
export function addShutdownCheck(health: Health): () => void {
  let isShuttingDown = false;
  health.add({
    name: 'shutdown',
    endpoints: ['readyz'],
    check: () => {
      if (isShuttingDown) throw new Error('the server is shutting down');
    },
  });
  return () => {
    isShuttingDown = true;
  };
}
