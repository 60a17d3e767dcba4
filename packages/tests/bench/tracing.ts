/**
 * Measures the cost of tracing a GET against a server without tracing: no tracing, to show the noise; a tracer that
 * only follows sampled parents; one that samples a request of 10,000; and one that samples all (see
 * compared-servers.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/tracing.ts`
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { compare, type BenchServer, startBenchServer, thisCheckout } from './compared-servers.ts';

const rounds = 2;
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tracing-'));
const [etcd, receiver] = await Promise.all([startEtcd(), startReceiver()]);

const start = (name: string, samplingRatePerMillion?: number): Promise<BenchServer> => {
  const file = path.join(home, `${name}.json`);
  const traced = name.startsWith('traced');
  const fields = {
    endpoint: receiver.address,
    ...(samplingRatePerMillion !== undefined && { samplingRatePerMillion }),
  };
  fs.writeFileSync(
    file,
    JSON.stringify({ apiVersion: 'apiserver.config.platform.io/v1', kind: 'TracingConfiguration', ...fields }),
  );
  const flags = traced ? [`--tracing-config-file=${file}`] : [];
  return startBenchServer({ name, endpoints: etcd.endpoints, home, checkout: thisCheckout, flags });
};

/** Each variant has its own baseline server, because a server gets faster with the requests that it has served. */
const sides = [['plain'], ['traced-by-parents'], ['traced-sparsely', 100], ['traced-all', 1_000_000]] as const;
const started: BenchServer[] = [];
try {
  for (const [name, rate] of sides) {
    const pair = [await start(`beside-${name}`), await start(name, rate)] as const;
    started.push(...pair);
    for (let round = 0; round < rounds; round++) await compare('get-quorum', pair);
    await Promise.all(started.splice(0).map((side) => side.stop()));
  }
} finally {
  await Promise.all(started.map((side) => side.stop()));
  await receiver.stop();
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}
