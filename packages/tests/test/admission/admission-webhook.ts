/** Real admission webhooks: one HTTPS server with an answer of the test's choice for each of its paths. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { KubeObject } from '@cluster-apiserver/model';
import { type HttpsServer, startHttpsServer } from '../https-server.ts';
import type { ServedKinds } from '../serve-kinds.ts';

export interface Review {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: Readonly<Record<string, unknown>> & {
    readonly uid: string;
    readonly object: KubeObject | null;
    readonly oldObject: KubeObject | null;
  };
}

export interface Asked {
  /** With the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly review: Review;
}

export type Answer = (review: Review, response: ServerResponse) => void;

/** A response with the uid of the request. */
export const says =
  (response: object): Answer =>
  ({ apiVersion, request: { uid } }, sent) =>
    void sent.end(JSON.stringify({ kind: 'AdmissionReview', apiVersion, response: { uid, ...response } }));

export const allows = says({ allowed: true });
export const patches = (...operations: object[]): Answer =>
  says({ allowed: true, patchType: 'JSONPatch', patch: base64(JSON.stringify(operations)) });
export const labels = (name: string, value = 'yes'): Answer =>
  patches({ op: 'add', path: '/metadata/labels', value: { [name]: value } });

export const base64 = (given: string): string => Buffer.from(given).toString('base64');

export interface AdmissionWebhooks {
  readonly server: HttpsServer;
  readonly asked: Asked[];
  /** By the path; what has no answer is allowed. */
  readonly answers: Map<string, Answer>;
  /** A webhook of this name, at a path of that name. */
  webhook(name: string, part?: object): object;
  pathsAsked(): readonly string[];
}

export async function startAdmissionWebhooks(names: readonly string[] = []): Promise<AdmissionWebhooks> {
  const asked: Asked[] = [];
  const answers = new Map<string, Answer>();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const review = JSON.parse(await text(request)) as Review;
    asked.push({ path, headers: request.headers, review });
    (answers.get(nameIn(path)) ?? allows)(review, response);
  };
  const server = await startHttpsServer(
    (request, response) => void receive(request, response).catch(() => request.destroy()),
    { names },
  );
  return {
    server,
    asked,
    answers,
    webhook: (name, part = {}) => ({
      name: `${name}.hooks.example.com`,
      clientConfig: { url: `${server.origin}/${name}`, caBundle: base64(server.authority) },
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts'] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      ...part,
    }),
    pathsAsked: () => asked.map(({ path }) => nameIn(path)),
  };
}

const nameIn = (path: string): string => path.slice(1).replace(/\?.*$/, '');

const group = '/apis/admissionregistration.k8s.io/v1';
const kinds = { validatingwebhookconfigurations: 'Validating', mutatingwebhookconfigurations: 'Mutating' } as const;

/** Creates a configuration, which is in force from then on. */
export async function register(
  server: ServedKinds,
  plural: keyof typeof kinds,
  name: string,
  ...webhooks: object[]
): Promise<void> {
  const kind = `${kinds[plural]}WebhookConfiguration`;
  const created = await server.ask('POST', `${group}/${plural}`, { kind, metadata: { name }, webhooks });
  if (created.status !== 201) throw new Error(JSON.stringify(created.body));
}

export async function deleteConfigurations(server: ServedKinds): Promise<void> {
  for (const plural of Object.keys(kinds)) await server.ask('DELETE', `${group}/${plural}`);
}
