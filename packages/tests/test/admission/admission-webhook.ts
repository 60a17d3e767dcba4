/** Real admission webhooks: one HTTPS server whose tests choose a handler for each path. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type HttpsServer, startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import type { TestServer } from '../serve-kinds.ts';

export interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, unknown>> & {
    readonly uid: string;
    readonly object: KubeObject | null;
    readonly oldObject: KubeObject | null;
  };
}

export interface ReceivedReview {
  /** Includes the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly review: Review;
}

export type ReviewHandler = (review: Review, response: ServerResponse) => void;

/** Responds with an AdmissionReview that has the uid of the request. */
export const respondWith =
  (response: object): ReviewHandler =>
  ({ apiVersion, request: { uid } }, sent) =>
    void sent.end(JSON.stringify({ kind: 'AdmissionReview', apiVersion, response: { uid, ...response } }));

export const allow = respondWith({ allowed: true });
export const respondWithPatch = (...operations: object[]): ReviewHandler =>
  respondWith({ allowed: true, patchType: 'JSONPatch', patch: base64(JSON.stringify(operations)) });
export const respondWithLabel = (name: string, value = 'yes'): ReviewHandler =>
  respondWithPatch({ op: 'add', path: '/metadata/labels', value: { [name]: value } });

export const base64 = (given: string): string => Buffer.from(given).toString('base64');

export interface AdmissionWebhooks {
  readonly server: HttpsServer;
  readonly calls: ReceivedReview[];
  /** Handlers by path; a path without a handler allows. */
  readonly handlers: Map<string, ReviewHandler>;
  /** The configuration of a webhook with this name, at the path of the same name. */
  webhook(name: string, part?: object): object;
  calledNames(): readonly string[];
}

export async function startAdmissionWebhooks(names: readonly string[] = []): Promise<AdmissionWebhooks> {
  const calls: ReceivedReview[] = [];
  const handlers = new Map<string, ReviewHandler>();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const review = JSON.parse(await text(request)) as Review;
    calls.push({ path, headers: request.headers, review });
    (handlers.get(nameIn(path)) ?? allow)(review, response);
  };
  const server = await startHttpsServer(
    (request, response) => void receive(request, response).catch(() => request.destroy()),
    { names },
  );
  return {
    server,
    calls,
    handlers,
    webhook: (name, part = {}) => ({
      name: `${name}.hooks.example.com`,
      clientConfig: { url: `${server.origin}/${name}`, caBundle: base64(server.authority) },
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...part,
    }),
    calledNames: () => calls.map(({ path }) => nameIn(path)),
  };
}

const nameIn = (path: string): string => path.slice(1).replace(/\?.*$/, '');

const group = '/apis/admissionregistration.k8s.io/v1';
const kinds = { validatingwebhookconfigurations: 'Validating', mutatingwebhookconfigurations: 'Mutating' } as const;

/** Creates a webhook configuration, which is active immediately. */
export async function registerWebhooks(
  server: TestServer,
  plural: keyof typeof kinds,
  name: string,
  ...webhooks: object[]
): Promise<void> {
  const kind = `${kinds[plural]}WebhookConfiguration`;
  const created = await server.request('POST', `${group}/${plural}`, { kind, metadata: { name }, webhooks });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
}

export async function deleteWebhookConfigurations(server: TestServer): Promise<void> {
  for (const plural of Object.keys(kinds)) await server.request('DELETE', `${group}/${plural}`);
}
