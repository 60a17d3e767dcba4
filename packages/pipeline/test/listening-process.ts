/**
 * A listener in a process of its own, for tests that take away what the system gives it, or look at its memory. Prints its
 * port, then each fault, and for each line of its input how many sockets are in memory.
 */
import { TLSSocket } from 'node:tls';
import { queryObjects } from 'node:v8';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { defaultStreamsMax } from '../src/node/limits.ts';
import { listen } from '../src/node/listener.ts';
import { noListenerMeasures } from '../src/node/measures.ts';

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
    asksForCertificates: false,
    clock: systemClock,
    random,
    goawayChance: 0,
    streamsMax: defaultStreamsMax,
    connectionsPerPeerMax: 0,
    measures: { ...noListenerMeasures, connectionRefused: (reason) => say(`refused: ${reason}`) },
    report: (what, error) => say(`report: ${what}: ${String(error)}`),
  },
  () => ({ status: 200, headers: {}, body: Buffer.from('well') }),
);
say(`port: ${listener.port}`);
process.stdin.on('data', () => say(`sockets: ${queryObjects(TLSSocket)}`));
