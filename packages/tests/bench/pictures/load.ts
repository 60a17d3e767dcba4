/** Clients of a cluster, whose load the pictures show. */
import { once } from 'node:events';
import https from 'node:https';
import { openHttps } from '@cluster-apiserver/testkit/https-request';

export interface LoadedCluster {
  readonly urls: readonly string[];
  readonly certificate: Buffer;
  readonly token: string;
}

const namespace = '/api/v1/namespaces/pictures';
const clients = 6;
/** Between the requests of a client, so that the machine has time for Prometheus. */
const pauseMs = 20;
/** Objects that the clients read and write. */
const objects = 200;

/** Sends requests until the signal aborts. */
export async function sendLoad(cluster: LoadedCluster, signal: AbortSignal): Promise<void> {
  const agent = new https.Agent({ keepAlive: true, ca: cluster.certificate });
  const send = async (url: string, method: string, path: string, body?: object): Promise<void> => {
    const response = await openHttps(`${url}${path}`, { agent, token: cluster.token, method, body, signal });
    response.resume();
    await once(response, 'end');
  };
  const runClient = async (number: number): Promise<void> => {
    const url = cluster.urls[number % cluster.urls.length] ?? '';
    const accounts = `${namespace}/serviceaccounts`;
    for (let turn = 0; !signal.aborted; turn++) {
      const name = `robot-${(turn * clients + number) % objects}`;
      const account = { metadata: { name, labels: { turn: `${turn}` } } };
      await send(url, 'POST', accounts, account);
      await send(url, 'GET', `${accounts}/${name}`);
      await send(url, 'PUT', `${accounts}/${name}`, account);
      if (turn % 5 === 0) await send(url, 'GET', `${accounts}?limit=100`);
      if (turn % 3 === 0) await send(url, 'DELETE', `${accounts}/${name}`);
      if (turn % 7 === 0) await send(url, 'GET', `${accounts}/missing`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const watch = (url: string): Promise<void> => send(url, 'GET', `${namespace}/serviceaccounts?watch=1`);
  const running = [
    ...Array.from({ length: clients }, (_, number) => runClient(number)),
    ...cluster.urls.flatMap((url) => [watch(url), watch(url), watch(url)]),
  ];
  await Promise.allSettled(running); // each ends with the signal
  agent.destroy();
}
