/** A trace collector that is away or hangs is none of a client's business. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../../../base/test/until.ts';
import { type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { type OtlpReceiver, startReceiver } from '../../../telemetry/test/otlp-receiver.ts';
import { ask } from '../authentication/send-request.ts';
import type { ServedKinds } from '../serve-kinds.ts';
import { million, serveTraced } from './traced-server.ts';

let etcd: RealEtcd;
let receiver: OtlpReceiver;
let server: ServedKinds;
beforeAll(async () => {
  [etcd, receiver] = await Promise.all([startEtcd(), startReceiver()]);
  server = await serveTraced({ endpoint: receiver.address, samplingRatePerMillion: million }, { etcd });
});
afterAll(async () => {
  await server.close();
  await receiver.stop();
  await etcd.stop();
});

async function count(name: string): Promise<number> {
  const { text } = await ask(server, server.token, { path: '/metrics' });
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length) ?? 0,
  );
}

test('what it does not take is dropped and counted, and told of once', async () => {
  await until('spans', async () => (await count('apiserver_tracing_spans_exported_total')) > 0 || undefined);
  receiver.refusing = true;
  const dropped = 'apiserver_tracing_spans_dropped_total{reason="export_failed"}';
  await until('dropped spans', async () => (await count(dropped)) > 0 || undefined);
  const told = (): number => server.logged.filter((line) => line.includes('trace collector unreachable')).length;
  const before = await count(dropped);
  await until('more of them', async () => (await count(dropped)) > before || undefined);
  expect(told()).toBe(1);
  receiver.refusing = false;
  await until('the line', () => server.logged.find((line) => line.includes('trace collector reachable again')));
  expect(told()).toBe(1);
});

test('one that hangs holds up neither requests nor the end of the server', async () => {
  receiver.ready = new Promise(() => {});
  const other = await serveTraced({ endpoint: receiver.address, samplingRatePerMillion: million }, { etcd });
  for (let times = 0; times < 50; times++) expect((await other.ask('GET', '/api/v1/namespaces')).status).toBe(200);
  await other.close();
  receiver.ready = Promise.resolve();
});

test('a configuration that is wrong keeps the server from starting, with all that is wrong', async () => {
  const fields = { endpoint: 'https://collector', samplingRatePerMillion: -1 };
  await expect(serveTraced(fields, { etcd })).rejects.toThrow(
    [
      '--tracing-config-file: endpoint: unsupported scheme "https": expected none, dns, unix or unix-abstract; there is no TLS',
      '--tracing-config-file: samplingRatePerMillion: Invalid value: -1: expected a number from 0 to 1000000',
    ].join('\n'),
  );
});
