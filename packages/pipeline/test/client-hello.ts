import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { connect } from 'node:tls';

/** The first bytes of a TLS client. A server cannot distinguish a replay from another client. */
export async function clientHello(): Promise<Buffer> {
  const listener = createServer();
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo; // it listens on a port
  const client = connect({ host: '127.0.0.1', port, ALPNProtocols: ['h2'] });
  client.on('error', () => {}); // it never gets an answer
  const [accepted] = (await once(listener, 'connection')) as [Socket];
  const [hello] = (await once(accepted, 'data')) as [Buffer];
  client.destroy();
  accepted.destroy();
  listener.close();
  return hello;
}
