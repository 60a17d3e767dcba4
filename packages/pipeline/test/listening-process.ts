/**
 * A listener in a separate process, for tests that limit its resources or inspect its memory. Prints its port, then
 * each error, and for each line of input the number of sockets in memory.
 */
import { TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { defaultStreamsMax } from '../src/listener/limits.ts';
import { listen } from '../src/listener/listener.ts';
import { noListenerMeasures } from './no-listener-measures.ts';

const random = systemRandom();
const { certificate, privateKey } = await createSelfSigned(
  { commonName: 'test', hosts: ['127.0.0.1'] },
  systemClock,
  random,
);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const listener = await listen(
  {
    host: '127.0.0.1',
    port: 0,
    certificate: { cert: Buffer.from(certificate), key: Buffer.from(privateKey) },
    requestsCertificates: false,
    clock: systemClock,
    random,
    goawayChance: 0,
    streamsMax: defaultStreamsMax,
    connectionsPerPeerMax: 0,
    measures: { ...noListenerMeasures, countRefusedConnection: (reason) => say(`refused: ${reason}`) },
    reportRefusal: () => {},
    report: (what, error) => say(`report: ${what}: ${String(error)}`),
  },
  () => ({ status: 200, headers: {}, body: Buffer.from('well') }),
);
say(`port: ${listener.port}`);
process.stdin.on('data', () => say(`sockets: ${queryObjects(TLSSocket)}`));
