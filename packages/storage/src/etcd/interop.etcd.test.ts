/** The store contract with an HTTP/2 proxy in front of etcd. */
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { requireValue } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { openForContract } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { describeStoreContract } from '../../test/contract/store-contract.ts';

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

const nghttpx = process.env.NGHTTPX_BIN;
const proxied = nghttpx === undefined ? describe.skip : describe;
proxied(nghttpx === undefined ? 'skipped: there is no nghttpx' : 'through nghttpx', () => {
  let endpoint: string;
  let stop = (): void => {};
  beforeAll(async () => {
    const [port] = await freePorts(1);
    const { host } = new URL(etcd.endpoints[0] as string); // there is a member
    const proxy = spawn(
      requireValue(nghttpx),
      [
        '--conf=/dev/null',
        `--frontend=127.0.0.1,${port};no-tls`,
        `--backend=${host.replace(':', ',')};;proto=h2`,
        '--workers=1',
        // The proxy has no dynamic table, so this side must set its table size to 0.
        '--frontend-http2-decoder-dynamic-table-size=0',
        '--frontend-http2-max-concurrent-streams=10',
        '--single-process',
      ],
      { stdio: 'ignore' },
    );
    stop = () => void proxy.kill('SIGKILL');
    endpoint = `http://127.0.0.1:${port}`;
    await until('nghttpx', () => accepts(Number(port)));
  });
  afterAll(() => stop());

  describeStoreContract('the store on etcd', async () => openForContract([endpoint]));
});

const accepts = (port: number): Promise<true | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: true | undefined): void => {
      socket.destroy();
      resolve(result);
    };
    socket.on('connect', () => end(true)).on('error', () => end(undefined));
  });
