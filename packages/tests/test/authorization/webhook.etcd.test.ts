/** Authorization webhooks behind real TLS, called by the assembled server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type TestServer, type TestServerOptions, serveKinds } from '../serve-kinds.ts';
import { requestAs, configuration, metric, reconfigure, rewriteFile, serve } from './configuration.ts';
import { type ReviewHandler, type RealWebhook, respondWith, startWebhook } from './real-webhook.ts';
import { dripBody, sendBody } from '@cluster-apiserver/testkit/https-server';

const file = '/hook/config';

let etcd: RealEtcd;
let hook: RealWebhook;
let server: TestServer | undefined;
beforeAll(async () => {
  [etcd, hook] = await Promise.all([startEtcd(), startWebhook()]);
});
afterAll(async () => {
  await hook.stop();
  await etcd.stop();
});
beforeEach(() => {
  hook.calls.length = 0;
  hook.answer = respondWith({ allowed: true });
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const webhook = (part: object = {}, name = 'hook'): object => ({
  type: 'Webhook',
  name,
  webhook: {
    timeout: '10s',
    subjectAccessReviewVersion: 'v1',
    matchConditionSubjectAccessReviewVersion: 'v1',
    failurePolicy: 'Deny',
    connectionInfo: { type: 'PlatformConfigFile', platformConfigFile: file },
    ...part,
  },
});
const uncached = { cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false };
const alwaysAllow = { type: 'AlwaysAllow', name: 'open' };

async function open(authorizers: object[], options: TestServerOptions = {}): Promise<TestServer> {
  server = await serve(configuration(...authorizers), {
    etcd,
    errorsExpected: true,
    ...options,
    files: { [file]: hook.connection(), ...options.files },
  });
  return server;
}

const statusOf = async (at: TestServer, user = 'ann', path?: string): Promise<number> =>
  (await requestAs(at, user, path)).status;

describe('A webhook', () => {
  test('receives the whole SubjectAccessReview, and its decision is cached', async () => {
    const at = await open([webhook()]);
    const path = '/api/v1/namespaces/team/serviceaccounts?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx';
    for (let times = 0; times < 3; times++) expect(await statusOf(at, 'ann', path)).toBe(200);
    expect(hook.calls).toEqual([
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: 'ann',
          groups: ['devs', 'system:authenticated'],
          resourceAttributes: {
            verb: 'list',
            version: 'v1',
            namespace: 'team',
            resource: 'serviceaccounts',
            name: 'x',
            fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['x'] }] },
            labelSelector: { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
          },
        },
        authorization: undefined,
        certificate: undefined,
      },
    ]);
    expect(await metric(at, 'apiserver_authorization_webhook_evaluations_total', { name: 'hook' })).toBe(1);
    expect(await metric(at, 'apiserver_authorization_webhook_duration_seconds_count', { result: 'success' })).toBe(1);
    const decided = { type: 'Webhook', name: 'hook', decision: 'allowed' };
    expect(await metric(at, 'apiserver_authorization_decisions_total', decided)).toBe(3);
  });

  test.each<[string, object, number, RegExp | undefined]>([
    ['allows', { allowed: true }, 200, undefined],
    ['has no opinion', { allowed: false, reason: 'not my team' }, 403, /in the namespace "team": not my team$/],
    ['denies', { allowed: false, denied: true, reason: 'on holiday' }, 403, /: on holiday$/],
    ['allows and denies', { allowed: true, denied: true }, 500, /the webhook both allowed and denied/],
  ])('that %s decides', async (_, status, code, message) => {
    hook.answer = respondWith(status);
    const response = await requestAs(await open([webhook()]), 'ann');
    expect([response.status, response.message ?? '']).toEqual([code, message ? expect.stringMatching(message) : '']);
  });

  test('without an opinion defers to the next authorizer, and one that denies does not', async () => {
    const at = await open([webhook(uncached), alwaysAllow]);
    hook.answer = respondWith({ allowed: false });
    expect(await statusOf(at)).toBe(200);
    hook.answer = respondWith({ allowed: false, denied: true });
    expect(await statusOf(at)).toBe(403);
  });

  test('also decides access reviews', async () => {
    hook.answer = respondWith({ allowed: false, denied: true, reason: 'on holiday' });
    const at = await open([webhook()]);
    const spec = { user: 'bob', resourceAttributes: { verb: 'get', resource: 'events' } };
    const { body } = await at.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec });
    expect(body['status']).toEqual({ allowed: false, denied: true, reason: 'on holiday' });
    expect(hook.calls).toMatchObject([{ spec: { user: 'bob' } }]);
  });

  test('is not called for system:masters, probes, and requests that a match condition excludes', async () => {
    const at = await open([webhook({ matchConditions: [{ expression: "user != 'robot'" }] }), alwaysAllow]);
    expect((await requestAs(at, 'ann', undefined, 'system:masters')).status).toBe(200);
    expect(await statusOf(at, 'ann', '/livez')).toBe(200);
    expect(await statusOf(at, 'robot')).toBe(200);
    expect(hook.calls).toEqual([]);
    expect(await statusOf(at, 'ann')).toBe(200);
    expect(hook.calls).toHaveLength(1);
    const ofHook = { type: 'Webhook', name: 'hook' };
    expect(await metric(at, 'apiserver_authorization_match_condition_exclusions_total', ofHook)).toBe(1);
    expect(await metric(at, 'apiserver_authorization_match_condition_evaluation_seconds_count', ofHook)).toBe(2);
  });

  test.each<[string, number]>([
    ['Deny', 500],
    ['NoOpinion', 403],
  ])('whose match condition fails is skipped or denies: %s', async (failurePolicy, status) => {
    const matchConditions = [{ expression: "extra['tenant'] == ['a']" }];
    const at = await open([webhook({ failurePolicy, matchConditions })]);
    expect(await statusOf(at)).toBe(status);
    expect(hook.calls).toEqual([]);
    expect(await metric(at, 'apiserver_authorization_match_condition_evaluation_errors_total')).toBe(1);
  });

  test('can be configured by flags', async () => {
    server = await serveKinds(kinds, {
      etcd,
      flags: [
        '--authorization-mode=Webhook,RBAC',
        '--authorization-webhook-config-file=/hook/config',
        '--authorization-webhook-cache-authorized-ttl=0s',
      ],
      files: { [file]: hook.connection() },
    });
    for (let times = 0; times < 2; times++) expect(await statusOf(server)).toBe(200);
    expect(hook.calls).toMatchObject([
      { apiVersion: 'authorization.k8s.io/v1beta1', spec: { group: ['devs', 'system:authenticated'] } },
      {},
    ]);
  });
});

describe('A failed webhook call is decided by the failure policy', () => {
  test.each<[string, ReviewHandler]>([
    ['it responds with 403', sendBody(403)],
    ['it redirects', (_, response) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end()],
    ['it responds with 500', sendBody(500)],
    ['it responds with 429', sendBody(429)],
    ['it closes the connection', (_, response: ServerResponse) => void response.destroy()],
    ['it does not send JSON', sendBody(200, '<html>')],
    ['it sends an empty body', sendBody(200)],
    [
      'it sends another kind',
      sendBody(200, '{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{}}'),
    ],
    ['it sends too many bytes', sendBody(200, ' '.repeat(2 * 1024 * 1024))],
    ['it hangs', () => {}],
    ['it sends its response too slowly', dripBody],
  ])('when %s', async (_, answer) => {
    hook.answer = answer;
    const part = { timeout: '300ms' };
    const at = await open([webhook({ ...part, failurePolicy: 'NoOpinion' })]);
    const failed = await requestAs(at, 'ann');
    expect([failed.status, failed.message]).toEqual([
      500,
      expect.stringMatching(/^Internal error occurred: authorizer "hook": /),
    ]);
    expect(await metric(at, 'apiserver_authorization_webhook_evaluations_fail_open_total')).toBe(1);
    await reconfigure(at, configuration(webhook({ ...part, failurePolicy: 'NoOpinion' }), alwaysAllow));
    expect(await statusOf(at)).toBe(200);
    await reconfigure(at, configuration(webhook(part), alwaysAllow));
    expect(await statusOf(at)).toBe(500);
    expect(at.logLines.join('\n')).toContain('authorization webhook failed');
  });

  test('when it is stopped, and is called again after its restart', async () => {
    const at = await open([webhook({ ...uncached, timeout: '2s' })]);
    expect(await statusOf(at)).toBe(200);
    await hook.stop();
    try {
      expect(await statusOf(at)).toBe(500);
      expect(at.logLines.join('\n')).toMatch(/"authorization webhook failed" authorizer="hook" err=.*ECONNREFUSED/);
      expect(at.logLines.filter((line) => line.includes('ECONNREFUSED'))).toHaveLength(1);
      // Many requests for a stopped webhook cost no more than one.
      const responses = await Promise.all(Array.from({ length: 50 }, (_, index) => requestAs(at, `user-${index}`)));
      expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([500]));
    } finally {
      await hook.restart();
    }
    await until('the webhook to be called again', async () => ((await statusOf(at)) === 200 ? true : undefined));
  });

  test('when its CA is not trusted, until the kubeconfig contains it', async () => {
    const at = await open([webhook({ ...uncached, timeout: '1s' })]);
    expect(await statusOf(at)).toBe(200);
    const other = await hook.rotateCertificate();
    const before = hook.calls.length;
    expect(await statusOf(at)).toBe(500);
    expect(hook.calls).toHaveLength(before);
    await rewriteFile(at, file, hook.connection({}, other), 'configuration reloaded');
    await until('the webhook to be called again', async () => ((await statusOf(at)) === 200 ? true : undefined));
    hook.trusted = other;
  });
});

describe('The connection', () => {
  test('uses the credentials of its files, and reloads them', async () => {
    const issue = async (name: string) => hook.clients.issue({ subject: [['CN', name]] });
    const [first, second] = await Promise.all([issue('first'), issue('second')]);
    const user = { 'client-certificate': 'own.crt', 'client-key': 'own.key', tokenFile: 'token' };
    const files = { '/hook/own.crt': first.chain, '/hook/own.key': first.privateKey, '/hook/token': 'one\n' };
    const at = await open([webhook(uncached)], { files: { ...files, [file]: hook.connection(user) } });
    expect(await statusOf(at)).toBe(200);
    expect(hook.calls.at(-1)).toMatchObject({ authorization: 'Bearer one', certificate: 'CN=first' });
    await rewriteFile(at, '/hook/token', 'two\n', 'configuration reloaded');
    expect(await statusOf(at)).toBe(200);
    expect(hook.calls.at(-1)).toMatchObject({ authorization: 'Bearer two', certificate: 'CN=first' });
    // A certificate without its key is not used until the key follows.
    await rewriteFile(at, '/hook/own.crt', second.chain, 'do not belong together');
    expect(await statusOf(at)).toBe(200);
    expect(hook.calls.at(-1)).toMatchObject({ certificate: 'CN=first' });
    await rewriteFile(at, '/hook/own.key', second.privateKey, 'configuration reloaded');
    expect(await statusOf(at)).toBe(200);
    expect(hook.calls.at(-1)).toMatchObject({ certificate: 'CN=second' });
  });

  test('finishes a request with the configuration that it started with', async () => {
    const at = await open([webhook(uncached)]);
    let release = (): void => {};
    hook.answer = (review, response) => {
      release = () => respondWith({ allowed: true })(review, response);
    };
    const waiting = requestAs(at, 'ann');
    await until('the call', () => (hook.calls.length > 0 ? true : undefined));
    await reconfigure(at, configuration({ type: 'AlwaysDeny', name: 'closed' }));
    expect(await statusOf(at)).toBe(403);
    release();
    expect((await waiting).status).toBe(200);
  });
});

test('a configuration that changes under load is never partially applied', async () => {
  const at = await open([alwaysAllow]);
  const other = configuration({ type: 'AlwaysDeny', name: 'closed' });
  const seen = new Set<number>();
  let isDone = false;
  const load = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (!isDone) seen.add(await statusOf(at));
    }),
  );
  for (let times = 0; times < 3; times++) {
    await reconfigure(at, other);
    await reconfigure(at, configuration({ type: 'Webhook', name: 'x' }));
    await reconfigure(at, configuration(webhook(), alwaysAllow));
  }
  isDone = true;
  await load;
  expect(seen).toEqual(new Set([200, 403]));
});
