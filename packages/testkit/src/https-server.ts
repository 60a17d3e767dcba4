/** A real HTTPS server with its own certificates, which can stop, restart and change its CA. */
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import https from 'node:https';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority, type CertificateAuthority } from '@cluster-apiserver/certificates';
import { freePorts } from './free-ports.ts';

export interface HttpsServer {
  /** Such as `https://127.0.0.1:1234`. */
  readonly origin: string;
  /** CA of its first certificate. */
  readonly authority: string;
  /** Number of accepted connections. */
  readonly connections: number;
  /** Closes all connections and stops listening. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Closes connections without a request. */
  closeIdleConnections(): void;
  /** Serves a new certificate of a new CA, and returns the CA certificate. */
  rotateCertificate(): Promise<string>;
}

interface HttpsServerOptions {
  readonly names?: readonly string[];
  /** Requests client certificates of this CA, and accepts other clients, too. */
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
  // Not an ephemeral port, which a connection of another process may take between a stop and a restart.
  const [port] = await freePorts(1);
  let connections = 0;
  server.on('connection', () => connections++);
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
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

/** A handler that responds with a status and a body, for every webhook. */
export const sendBody =
  (status: number, body = '') =>
  (_: unknown, response: ServerResponse): void =>
    void response.writeHead(status).end(body);

/** A handler whose response never ends: one byte at a time. */
export const dripBody = (_: unknown, response: ServerResponse): void => {
  response.writeHead(200).write('{');
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
};
