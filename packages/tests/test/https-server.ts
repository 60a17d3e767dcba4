/** A real HTTPS server with certificates of its own, that can go away, come back and change its authority. */
import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority, type CertificateAuthority } from '@cluster-apiserver/certificates';

export interface HttpsServer {
  /** Such as `https://127.0.0.1:1234`. */
  readonly origin: string;
  /** The authority that its first certificate is of. */
  readonly authority: string;
  /** Connections that were opened so far. */
  readonly connections: number;
  /** Ends all connections and listens no more. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Ends connections that no request uses. */
  closeIdleConnections(): void;
  /** Serves with a new certificate of another authority from now on, and gives that authority. */
  rotateCertificate(): Promise<string>;
}

interface HttpsServerOptions {
  readonly names?: readonly string[];
  /** Asks clients for certificates of this authority, and takes others too. */
  readonly clientAuthority?: string;
}

export async function startHttpsServer(
  receive: RequestListener,
  { names = [], clientAuthority }: HttpsServerOptions = {},
): Promise<HttpsServer> {
  const newAuthority = () => createAuthority('servers', systemClock, systemRandom());
  const issue = (by: CertificateAuthority) =>
    by.issueForServer({ commonName: 'server', hosts: ['127.0.0.1', ...names] });
  const authority = await newAuthority();
  const { certificate, privateKey } = await issue(authority);
  const ofClients = clientAuthority ? { ca: clientAuthority, requestCert: true, rejectUnauthorized: false } : {};
  const server = https.createServer({ cert: certificate, key: privateKey, ...ofClients }, receive);
  let port = 0;
  let connections = 0;
  server.on('connection', () => connections++);
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  };
  await listen();
  return {
    origin: `https://127.0.0.1:${port}`,
    authority: authority.certificate,
    get connections() {
      return connections;
    },
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    restart: listen,
    closeIdleConnections: () => server.closeIdleConnections(),
    rotateCertificate: async () => {
      const other = await newAuthority();
      const issued = await issue(other);
      server.setSecureContext({ cert: issued.certificate, key: issued.privateKey, ...ofClients });
      server.closeAllConnections();
      return other.certificate;
    },
  };
}
