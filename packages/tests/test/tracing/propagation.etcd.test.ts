/**
 * Calls to other services during a sampled request are part of its trace, in our spans and through the propagated
 * context.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IncomingMessage, ServerResponse } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, type CryptoKey, SignJWT } from 'jose';
import { type RealPlugin, startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type OtlpReceiver, type ReceivedSpan, startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { base64, registerWebhooks } from '../admission/admission-webhook.ts';
import { sendRequest } from '../authentication/send-request.ts';
import { configuration as authenticationConfiguration } from '../authentication/configuration.ts';
import { configuration as authorizationConfiguration } from '../authorization/configuration.ts';
import { configuration as encryptionConfiguration, kmsProviders } from '../encryption/configuration.ts';
import { type HttpsServer, startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import type { TestServer } from '../serve-kinds.ts';
import { million, serveTraced, spansOf, treeOf } from './traced-server.ts';
import { kubeconfig } from '../kubeconfig.ts';

/** The received trace context by path. */
const received = new Map<string, string | undefined>();

let etcd: RealEtcd;
let receiver: OtlpReceiver;
let plugin: RealPlugin;
let others: HttpsServer;
let keys: { readonly publicKey: CryptoKey; readonly privateKey: CryptoKey };
let server: TestServer;

beforeAll(async () => {
  const socket = path.join(os.tmpdir(), `kms-traced-${process.pid}.sock`);
  [etcd, receiver, plugin, keys] = await Promise.all([
    startEtcd({ encrypted: true }),
    startReceiver(),
    startPlugin(socket),
    generateKeyPair('ES256', { extractable: true }),
  ]);
  others = await startHttpsServer((request, response) => void answer(request, response));
  const { origin: url, authority } = others;
  const connection = (at: string): string =>
    kubeconfig({ server: `${url}/${at}`, 'certificate-authority-data': base64(authority) });
  const issuer = { url, certificateAuthority: authority, audiences: ['cluster'] };
  server = await serveTraced(
    { endpoint: receiver.address, samplingRatePerMillion: million },
    {
      etcd,
      flags: [
        '--authentication-token-webhook-config-file=tokens.kubeconfig',
        '--authentication-config=authentication',
        '--authorization-config=authorization',
        '--encryption-provider-config=encryption',
      ],
      files: {
        'tokens.kubeconfig': connection('tokens'),
        '/authorize.kubeconfig': connection('authorize'),
        authentication: authenticationConfiguration({
          jwt: [{ issuer, claimMappings: { username: { claim: 'sub', prefix: '' } } }],
        }),
        authorization: authorizationConfiguration({ type: 'Webhook', name: 'hook', webhook: authorizer }),
        encryption: encryptionConfiguration(...kmsProviders('v1', socket, 'vault')),
      },
    },
  );
  await registerWebhooks(server, 'mutatingwebhookconfigurations', 'm', admissionWebhook('mutate'));
  await registerWebhooks(server, 'validatingwebhookconfigurations', 'v', admissionWebhook('validate'));
});
afterAll(async () => {
  await server.close();
  await Promise.all([others.stop(), receiver.stop(), plugin.stop(), etcd.stop()]);
});

const authorizer = {
  timeout: '10s',
  subjectAccessReviewVersion: 'v1',
  matchConditionSubjectAccessReviewVersion: 'v1',
  failurePolicy: 'Deny',
  connectionInfo: { type: 'PlatformConfigFile', platformConfigFile: '/authorize.kubeconfig' },
};

const admissionWebhook = (at: string): object => ({
  name: `${at}.example.com`,
  clientConfig: { url: `${others.origin}/${at}`, caBundle: base64(others.authority) },
  rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['serviceaccounts'] }],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const at = (request.url ?? '').replace(/\?.*/, '');
  received.set(at, request.headers['traceparent'] as string | undefined);
  const body = await text(request);
  response.end(JSON.stringify(await documentAt(at, body === '' ? {} : JSON.parse(body))));
}

interface Review {
  readonly apiVersion?: string;
  readonly spec?: { readonly token?: string };
  readonly request?: { readonly uid: string };
}

async function documentAt(at: string, review: Review): Promise<object> {
  const { apiVersion } = review;
  switch (at) {
    case '/.well-known/openid-configuration':
      return { issuer: others.origin, jwks_uri: `${others.origin}/keys` };
    case '/keys':
      return { keys: [{ ...(await exportJWK(keys.publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }] };
    case '/tokens':
      // Each token has a user of its own, for whom no permission is cached.
      return {
        apiVersion,
        kind: 'TokenReview',
        status: { authenticated: true, user: { username: review.spec?.token } },
      };
    case '/authorize':
      return { apiVersion, kind: 'SubjectAccessReview', status: { allowed: true } };
    default:
      return { apiVersion, kind: 'AdmissionReview', response: { uid: review.request?.uid, allowed: true } };
  }
}

let requestCount = 0;

async function traceOfCreate(token: string): Promise<readonly ReceivedSpan[]> {
  received.clear();
  plugin.traceparents.length = 0;
  const auditId = `others-${++requestCount}`;
  const body = JSON.stringify({ metadata: { name: `a-${requestCount}` } });
  const { status } = await sendRequest(server, token, {
    method: 'POST',
    path: '/api/v1/namespaces/default/serviceaccounts',
    headers: { 'audit-id': auditId },
    body,
  });
  expect(status).toBe(201);
  return spansOf(receiver, auditId);
}

const traceparentOf = ({ traceId, spanId }: ReceivedSpan): string => `00-${traceId}-${spanId}-01`;
const clientsIn = (spans: readonly ReceivedSpan[]): ReceivedSpan[] => spans.filter(({ kind }) => kind === 'client');

describe('The trace of a write includes', () => {
  test('calls of authorization and admission webhooks, and of the KMS plugin', async () => {
    const spans = await traceOfCreate('opaque');
    expect(treeOf(spans, ({ name }) => name)).toEqual([
      'POST /api/v1/namespaces/{:namespace}/serviceaccounts',
      '  authentication',
      '    POST',
      '  authorization',
      '    POST',
      '  read body',
      '  mutating admission',
      '    POST',
      '  validating admission',
      '    POST',
      '  etcd create',
      '    KMS Encrypt',
    ]);
    const sent = clientsIn(spans).map(traceparentOf);
    expect([...received.keys()].sort()).toEqual(['/authorize', '/mutate', '/tokens', '/validate']);
    for (const traceparent of [...received.values(), ...plugin.traceparents]) expect(sent).toContain(traceparent);
    expect(plugin.traceparents).toHaveLength(1);
  });

  test("the request for the issuer's keys", async () => {
    const token = await new SignJWT({ iss: others.origin, aud: 'cluster', sub: 'dog' })
      .setExpirationTime('1h')
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .sign(keys.privateKey);
    const spans = await traceOfCreate(token);
    const fetched = ['/.well-known/openid-configuration', '/keys'].map((at) => received.get(at));
    const gets = clientsIn(spans).filter(({ name }) => name === 'GET');
    expect(gets.map(traceparentOf)).toEqual(fetched);
    const authentication = spans.find(({ name }) => name === 'authentication');
    expect(gets.map(({ parentSpanId }) => parentSpanId)).toEqual(fetched.map(() => authentication?.spanId));
  });

  test('server addresses, without paths and queries', async () => {
    const { port } = new URL(others.origin);
    const webhooks = clientsIn(await traceOfCreate('another')).filter(({ name }) => name === 'POST');
    for (const { attributes } of webhooks)
      expect(attributes).toEqual({
        'http.request.method': 'POST',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'server.port': Number(port),
      });
  });
});
