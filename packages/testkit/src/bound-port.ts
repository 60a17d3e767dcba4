import type { Server } from 'node:net';

/** The port that the system has chosen for a server that listens. */
export function boundPort(server: Server): number {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen on a port');
  return address.port;
}
