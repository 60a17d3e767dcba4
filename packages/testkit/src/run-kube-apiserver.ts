/**
 * Starts a kube-apiserver with the given flags for the program that started this one. Sends where it is over the IPC
 * channel, and stops it when the channel closes.
 */
import { once } from 'node:events';
import { startKubeApiserver } from './kube-apiserver.ts';

const server = await startKubeApiserver({ flags: process.argv.slice(2) });
try {
  const { url, token, pid, etcd } = server;
  process.send?.({ url, token, pid, etcd });
  await once(process, 'disconnect');
} finally {
  await server.stop();
}
