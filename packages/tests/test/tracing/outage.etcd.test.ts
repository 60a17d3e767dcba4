/** An unavailable or hanging trace collector does not affect clients. */
import { expect, test } from '@jest/globals';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { until } from '@cluster-apiserver/testkit/until';
import { sendRequest } from '../authentication/send-request.ts';
import { million, serveTraced, startTracedServer } from './traced-server.ts';

const { etcd, receiver, server } = await startTracedServer();

async function count(name: string): Promise<number> {
  const { text } = await sendRequest(server, server.token, { path: '/metrics' });
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length) ?? 0,
  );
}

test('rejected spans are dropped and counted, and logged once', async () => {
  await until('spans', async () => (await count('apiserver_tracing_spans_exported_total')) > 0 || undefined);
  receiver.refusing = true;
  const dropped = 'apiserver_tracing_spans_dropped_total{reason="export_failed"}';
  await until('dropped spans', async () => (await count(dropped)) > 0 || undefined);
  const unreachableLines = (): number =>
    server.logLines.filter((line) => line.includes('trace collector unreachable')).length;
  const before = await count(dropped);
  await until('more dropped spans', async () => (await count(dropped)) > before || undefined);
  expect(unreachableLines()).toBe(1);
  receiver.refusing = false;
  await until('the line', () => server.logLines.find((line) => line.includes('trace collector reachable again')));
  expect(unreachableLines()).toBe(1);
});

test('a hanging collector delays neither requests nor the shutdown of the server', async () => {
  const hanging = await startReceiver();
  const ready = Promise.withResolvers<void>();
  hanging.ready = ready.promise;
  const other = await serveTraced({ endpoint: hanging.address, samplingRatePerMillion: million }, { etcd });
  for (let times = 0; times < 50; times++) expect((await other.request('GET', '/api/v1/namespaces')).status).toBe(200);
  await other.close();
  ready.resolve();
  await hanging.stop();
});

test('an invalid configuration prevents the server from starting, with all errors', async () => {
  const fields = { endpoint: 'https://collector', samplingRatePerMillion: -1 };
  await expect(serveTraced(fields, { etcd })).rejects.toThrow(
    [
      '--tracing-config-file: endpoint: unsupported scheme "https": expected none, dns, ipv4, ipv6, unix or unix-abstract; there is no TLS',
      '--tracing-config-file: samplingRatePerMillion: Invalid value: -1: expected a number from 0 to 1000000',
    ].join('\n'),
  );
});
