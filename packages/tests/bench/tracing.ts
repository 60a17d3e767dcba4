/**
 * What tracing costs a GET: two servers without it, to show the noise, one that records what masters ask for, one that
 * records a request of 10,000, and one that records all of them for a receiver in this process (see sides.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/tracing.ts`
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '../../storage/test/real-etcd.ts';
import { startReceiver } from '../../telemetry/test/otlp-receiver.ts';
import { compare, type Side, startSide, thisCheckout } from './sides.ts';

/** Of five pairs each, in turn, since the machine is busier at one time than at another. */
const rounds = 3;
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'tracing-'));
const [etcd, receiver] = await Promise.all([startEtcd(), startReceiver()]);

const start = (name: string, samplingRatePerMillion?: number): Promise<Side> => {
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
  return startSide({ name, endpoints: etcd.endpoints, home, checkout: thisCheckout, flags });
};

const recordAll = 1_000_000;
const plain = await start('plain');
const again = await start('again');
const unsampled = await start('traced-parents');
const sparse = await start('traced-sparsely', 100);
const all = await start('traced-all', recordAll);
try {
  const least = new Map<string, number>();
  const note = (side: Side, us: number): unknown =>
    least.set(side.name, Math.min(us, least.get(side.name) ?? Number.POSITIVE_INFINITY));
  for (let round = 0; round < rounds; round++)
    for (const side of [again, unsampled, sparse]) {
      const [one, other] = await compare('get-quorum', [plain, side]);
      note(plain, one);
      note(side, other);
    }
  for (const [name, us] of least) console.log(`${name}: ${us.toFixed(1)} us at least`);
  await compare('get-quorum', [plain, all]);
} finally {
  await Promise.all([plain, again, unsampled, sparse, all].map((side) => side.stop()));
  await receiver.stop();
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}
