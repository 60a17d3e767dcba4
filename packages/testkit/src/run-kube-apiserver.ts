/**
 * Starts a kube-apiserver for the program that started this one, with the given variables (NAME=VALUE) and flags. Sends
 * where it is over the IPC channel, and stops it when the channel closes.
 */
import { once } from 'node:events';
import { startKubeApiserver } from './kube-apiserver.ts';

const args = process.argv.slice(2);
const isFlag = (arg: string): boolean => arg.startsWith('--');
const variables = args.filter((arg) => !isFlag(arg)).map((arg) => arg.split('=', 2));
const server = await startKubeApiserver({ flags: args.filter(isFlag), env: Object.fromEntries(variables) });
try {
  const { url, token, pid, etcd } = server;
  process.send?.({ url, token, pid, etcd });
  await once(process, 'disconnect');
} finally {
  await server.stop();
}
