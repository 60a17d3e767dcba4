/** A real authorization webhook: HTTPS with its own certificates; tests choose the responses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { type TestAuthority, testAuthority } from '../../../certificates/test/test-authority.ts';
import { startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import { kubeconfig } from '../kubeconfig.ts';

export interface ReceivedReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly authorization: string | undefined;
  /** Subject of the client certificate. */
  readonly certificate: string | undefined;
}

export type ReviewHandler = (calls: ReceivedReview, response: ServerResponse) => void;

export const respondWith =
  (status: object): ReviewHandler =>
  ({ apiVersion }, response) =>
    void response.end(JSON.stringify({ apiVersion, kind: 'SubjectAccessReview', status }));

export interface RealWebhook {
  readonly calls: ReceivedReview[];
  answer: ReviewHandler;
  /** CA bundle for kubeconfig files. */
  trusted: string;
  readonly clients: TestAuthority;
  /** A kubeconfig that contains the CA bundle. */
  connection(user?: object, trusted?: string): string;
  /** Closes all connections and stops listening. */
  stop(): Promise<void>;
  restart(): Promise<void>;
  /** Serves a new certificate of a new CA, and returns the CA bundle. */
  rotateCertificate(): Promise<string>;
}

export async function startWebhook(): Promise<RealWebhook> {
  const clients = await testAuthority('clients of webhooks');
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const review = JSON.parse(await text(request)) as ReceivedReview;
    const shown = (request.socket as TLSSocket).getPeerX509Certificate()?.subject;
    const received = { ...review, authorization: request.headers.authorization, certificate: shown };
    webhook.calls.push(received);
    webhook.answer(received, response);
  };
  const server = await startHttpsServer(
    (request, response) => void receive(request, response).catch(() => request.destroy()),
    { clientAuthority: clients.certificate },
  );
  const webhook: RealWebhook = {
    calls: [],
    answer: respondWith({ allowed: true }),
    trusted: server.authority,
    clients,
    connection: (user = {}, trusted = webhook.trusted) =>
      kubeconfig(
        {
          server: `${server.origin}/authorize`,
          'certificate-authority-data': Buffer.from(trusted).toString('base64'),
        },
        user,
      ),
    stop: server.stop,
    restart: server.restart,
    rotateCertificate: server.rotateCertificate,
  };
  return webhook;
}
