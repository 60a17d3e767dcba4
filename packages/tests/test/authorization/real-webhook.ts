/** A real authorization webhook: HTTPS with certificates of its own, and answers of the test's choice. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority, type CertificateAuthority } from '@cluster-apiserver/certificates';
import { type TestAuthority, testAuthority } from '../../../certificates/test/test-authority.ts';

export interface Asked {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
  /** The subject of the client's certificate. */
  readonly certificate: string | undefined;
}

export type Answer = (asked: Asked, response: ServerResponse) => void;

export const says =
  (status: object): Answer =>
  ({ apiVersion }, response) =>
    void response.end(JSON.stringify({ apiVersion, kind: 'SubjectAccessReview', status }));

export interface RealWebhook {
  readonly asked: Asked[];
  answer: Answer;
  /** The authority that connection files trust. */
  trusted: string;
  readonly clients: TestAuthority;
  /** A kubeconfig, with the authority in it. */
  connection(user?: object, trusted?: string): string;
  /** Ends all connections and listens no more. */
  leave(): Promise<void>;
  comeBack(): Promise<void>;
  /** Serves with a new certificate of another authority from now on, and gives that authority. */
  rotate(): Promise<string>;
}

export async function startWebhook(): Promise<RealWebhook> {
  const clients = await testAuthority('clients of webhooks');
  const newAuthority = () => createAuthority('webhooks', systemClock, systemRandom());
  const issue = (by: CertificateAuthority) => by.issueForServer({ commonName: 'webhook', hosts: ['127.0.0.1'] });
  const authority = await newAuthority();
  const { certificate, privateKey } = await issue(authority);
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const review = JSON.parse(await text(request)) as Asked;
    const shown = (request.socket as TLSSocket).getPeerX509Certificate()?.subject;
    const asked = { ...review, authorization: request.headers.authorization, certificate: shown };
    webhook.asked.push(asked);
    webhook.answer(asked, response);
  };
  const server = https.createServer(
    { cert: certificate, key: privateKey, ca: clients.certificate, requestCert: true, rejectUnauthorized: false },
    (request, response) => void receive(request, response).catch(() => request.destroy()),
  );
  let port = 0;
  const listen = async (): Promise<void> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  };
  await listen();
  const webhook: RealWebhook = {
    asked: [],
    answer: says({ allowed: true }),
    trusted: authority.certificate,
    clients,
    connection: (user = {}, trusted = webhook.trusted) =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'c',
            cluster: {
              server: `https://127.0.0.1:${port}/authorize`,
              'certificate-authority-data': Buffer.from(trusted).toString('base64'),
            },
          },
        ],
        users: [{ name: 'u', user }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    leave: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    comeBack: listen,
    rotate: async () => {
      const other = await newAuthority();
      const issued = await issue(other);
      server.setSecureContext({ cert: issued.certificate, key: issued.privateKey, ca: clients.certificate });
      server.closeAllConnections();
      return other.certificate;
    },
  };
  return webhook;
}
