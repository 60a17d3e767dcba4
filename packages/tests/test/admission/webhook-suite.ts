/** A server and real admission webhooks behind TLS, shared by the tests of one file. */
import { afterAll, afterEach, beforeEach } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { serveKinds, type TestServer } from '../serve-kinds.ts';
import {
  type AdmissionWebhooks,
  base64,
  deleteWebhookConfigurations,
  registerWebhooks,
  startAdmissionWebhooks,
} from './admission-webhook.ts';

/** The collection that the tests write to. */
export const accounts = '/api/v1/namespaces/team/serviceaccounts';

export interface WebhookSuite {
  readonly hooks: AdmissionWebhooks;
  readonly server: TestServer;
  /** CA bundle of the webhook server's first certificate. */
  readonly caBundle: string;
  validating(...webhooks: object[]): Promise<void>;
  mutating(...webhooks: object[]): Promise<void>;
  /** Creates a service account; its name is generated unless `object` has metadata. */
  create(object?: object, query?: string): Promise<JsonResponse>;
  nextName(): string;
}

/** Starts the webhooks and the server, deletes configurations after each test, and stops both after the last one. */
export async function startWebhookSuite(): Promise<WebhookSuite> {
  const hooks = await startAdmissionWebhooks(['policy.team.svc']);
  const address = new URL(hooks.server.origin).host;
  const server = await serveKinds(kinds, {
    flags: [`--admission-webhook-services=team/policy=${address}`],
    errorsExpected: true,
  });
  await server.request('POST', '/api/v1/namespaces', { metadata: { name: 'team', labels: { tier: 'gold' } } });
  afterAll(async () => {
    await server.close();
    await hooks.server.stop();
  });
  beforeEach(() => {
    hooks.calls.length = 0;
    hooks.handlers.clear();
  });
  afterEach(() => deleteWebhookConfigurations(server));
  let count = 0;
  const nextName = (): string => `robot-${++count}`;
  return {
    hooks,
    server,
    caBundle: base64(hooks.server.authority),
    validating: (...webhooks) => registerWebhooks(server, 'validatingwebhookconfigurations', 'v', ...webhooks),
    mutating: (...webhooks) => registerWebhooks(server, 'mutatingwebhookconfigurations', 'm', ...webhooks),
    create: (object = {}, query = '') =>
      server.request('POST', `${accounts}${query}`, { metadata: { name: nextName() }, ...object }),
    nextName,
  };
}

/** A Status without the members that every Status has. */
export const statusOf = ({ body }: JsonResponse): object => ({
  ...body,
  kind: undefined,
  apiVersion: undefined,
  metadata: undefined,
});
