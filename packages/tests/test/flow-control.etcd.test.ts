/** Priority and fairness on the whole server: what a FlowSchema and a PriorityLevelConfiguration do to requests. */
import { text } from 'node:stream/consumers';
import { type HttpsResponse, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const group = '/apis/flowcontrol.apiserver.k8s.io/v1';
const levels = `${group}/prioritylevelconfigurations`;
const schemas = `${group}/flowschemas`;

/** Tokens of two users who may do everything. */
const tokens = 'noisy,noisy,2\npolite,polite,3\nsecret,admin,1,"system:masters"\n';

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds(kinds, { flags: ['--token-auth-file=users'], files: { users: tokens } });
  const subjects = ['noisy', 'polite'].map((name) => ({ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }));
  const roleRef = { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' };
  await server.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'users' },
    roleRef,
    subjects,
  });
  await until('the default objects', async () => {
    const { status } = await server.request('GET', `${schemas}/catch-all`);
    return status === 200 || undefined;
  });
});
afterAll(() => server.close());

async function send(token: string, method: string, path: string, body?: object): Promise<HttpsResponse> {
  return requestHttps(`${server.url}${path}`, { method, ca: server.certificate, token, body });
}

const uidOf = async (path: string): Promise<string | undefined> =>
  (await server.request('GET', path)).body.metadata.uid;

async function getTable(
  path: string,
): Promise<{ readonly rows: readonly { readonly cells: readonly unknown[] }[] | null }> {
  const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
  const headers = { accept };
  const { text: body } = await requestHttps(`${server.url}${path}`, {
    ca: server.certificate,
    token: 'secret',
    headers,
  });
  return JSON.parse(body);
}

test('a table has FlowSchemas in the order in which they match, a list by name', async () => {
  const rows = (await getTable(schemas)).rows ?? [];
  const order = rows.map(({ cells: [name, , precedence] }) => [Number(precedence), String(name)] as const);
  expect(order.length).toBeGreaterThan(10);
  expect(order).toEqual(
    order.toSorted(([one, name], [other, otherName]) => one - other || (name < otherName ? -1 : 1)),
  );
  const { items = [] } = (await server.request('GET', schemas)).body;
  const names = items.map(({ metadata }) => String(metadata.name));
  expect(names).toEqual(names.toSorted());
  expect(names).not.toEqual(order.map(([, name]) => name));
});

test('an empty table has null for rows only if its kind has no columns of its own', async () => {
  expect((await getTable('/api/v1/limitranges')).rows).toBeNull();
  expect((await getTable('/api/v1/secrets?labelSelector=a%3Db')).rows).toEqual([]);
});

test('responses name the FlowSchema and the priority level, refused and exempt ones too', async () => {
  const [global, exempt] = [
    { schema: await uidOf(`${schemas}/global-default`), level: await uidOf(`${levels}/global-default`) },
    { schema: await uidOf(`${schemas}/exempt`), level: await uidOf(`${levels}/exempt`) },
  ];
  for (const [token, path, status, expected] of [
    ['polite', '/version', 200, global],
    ['polite', '/api/v1/namespaces/default/serviceaccounts/none', 404, global],
    ['secret', '/version', 200, exempt],
  ] as const) {
    const response = await send(token, 'GET', path);
    expect({ path, status: response.status }).toEqual({ path, status });
    expect(response.headers).toMatchObject({
      'x-kubernetes-pf-flowschema-uid': expected.schema,
      'x-kubernetes-pf-prioritylevel-uid': expected.level,
    });
  }
});

test('a FlowSchema that has just been written holds, and one that is deleted does not', async () => {
  const level = {
    metadata: { name: 'own' },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  };
  expect((await server.request('POST', levels, level)).status).toBe(201);
  const rule = {
    subjects: [{ kind: 'User', user: { name: 'polite' } }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/version'] }],
  };
  const schema = { priorityLevelConfiguration: { name: 'own' }, matchingPrecedence: 10, rules: [rule] };
  const made = await server.request('POST', schemas, { metadata: { name: 'own' }, spec: schema });
  const of = async (path: string): Promise<unknown> =>
    (await send('polite', 'GET', path)).headers['x-kubernetes-pf-flowschema-uid'];
  await until('the schema', async () => (await of('/version')) === made.body.metadata.uid || undefined);
  expect(await of('/api')).toBe(await uidOf(`${schemas}/global-default`));
  await server.request('DELETE', `${schemas}/own`);
  await until('the end of the schema', async () => (await of('/version')) !== made.body.metadata.uid || undefined);
  await server.request('DELETE', `${levels}/own`);
});

test('mandatory and suggested objects come back, and administrators may take a suggested one over', async () => {
  for (const path of [`${levels}/workload-low`, `${schemas}/catch-all`]) {
    const uid = await uidOf(path);
    expect((await server.request('DELETE', path)).status).toBe(200);
    await until(`${path} again`, async () => {
      const { status, body } = await server.request('GET', path);
      return (status === 200 && body.metadata.uid !== uid) || undefined;
    });
  }
  const path = `${levels}/workload-high`;
  const change = (spec: object, annotations: object = {}) =>
    server.request('PATCH', path, { metadata: { annotations }, spec }, 'application/merge-patch+json');
  const shares = async (): Promise<unknown> =>
    ((await server.request('GET', path)).body as { spec?: { limited?: { nominalConcurrencyShares?: number } } }).spec
      ?.limited?.nominalConcurrencyShares;
  await change({ limited: { nominalConcurrencyShares: 77 } });
  await until('the former shares', async () => (await shares()) === 40 || undefined);
  await change({ limited: { nominalConcurrencyShares: 77 } }, { 'apf.kubernetes.io/autoupdate-spec': 'false' });
  await server.request('DELETE', `${schemas}/probes`);
  await until(
    'probes again',
    async () => (await server.request('GET', `${schemas}/probes`)).status === 200 || undefined,
  );
  expect(await shares()).toBe(77);
});

/** Reviews of the user `noisy` hang until they are released, one by one. */
async function hangAtWebhook(collection: string): Promise<{ held: (() => void)[]; stop: () => Promise<void> }> {
  const held: (() => void)[] = [];
  const webhook = await startHttpsServer((request, response) => {
    void text(request).then((body) => {
      const review = JSON.parse(body) as { request: { uid: string; userInfo: { username: string } } };
      const answer = { uid: review.request.uid, allowed: true };
      const respond = (): void =>
        void response.end(JSON.stringify({ ...review, request: undefined, response: answer }));
      if (review.request.userInfo.username === 'noisy') held.push(respond);
      else respond();
    });
  });
  await server.request('POST', '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'hanging' },
    webhooks: [
      {
        name: 'hanging.example.com',
        clientConfig: { url: webhook.origin, caBundle: Buffer.from(webhook.authority).toString('base64') },
        rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  await until('the webhook', async () => {
    const reviewed = send('noisy', 'POST', `${collection}?dryRun=All`, { metadata: { generateName: 'probe-' } });
    const first = await Promise.race([reviewed, until('a review', async () => held.length > 0 || undefined)]);
    for (const release of held.splice(0)) release();
    await reviewed;
    return first === true || undefined;
  });
  return { held, stop: () => webhook.stop() };
}

test('while all seats of a level hang, the next one is for another flow, and all requests are served', async () => {
  const collection = '/api/v1/namespaces/default/configmaps';
  const { held, stop } = await hangAtWebhook(collection);
  try {
    const level = {
      metadata: { name: 'narrow' },
      spec: {
        type: 'Limited',
        limited: {
          // Of some 250 shares for 600 seats.
          nominalConcurrencyShares: 1,
          borrowingLimitPercent: 0,
          limitResponse: { type: 'Queue', queuing: { queues: 1_000, handSize: 1, queueLengthLimit: 100 } },
        },
      },
    };
    await server.request('POST', levels, level);
    const made = await server.request('POST', schemas, {
      metadata: { name: 'narrow' },
      spec: {
        priorityLevelConfiguration: { name: 'narrow' },
        matchingPrecedence: 20,
        distinguisherMethod: { type: 'ByUser' },
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: '*' } }],
            resourceRules: [{ verbs: ['*'], apiGroups: [''], resources: ['configmaps'], namespaces: ['*'] }],
          },
        ],
      },
    });
    await until('the schema', async () => {
      const { headers } = await send('polite', 'GET', `${collection}/none`);
      return headers['x-kubernetes-pf-flowschema-uid'] === made.body.metadata.uid || undefined;
    });
    let answered = 0;
    const noisy = Array.from({ length: 20 }, (_, at) =>
      send('noisy', 'POST', collection, { metadata: { name: `noisy-${at}` } }).finally(() => answered++),
    );
    const metric = async (name: string): Promise<number> => {
      const { text: exposed } = await send('secret', 'GET', '/metrics');
      return Number(new RegExp(`^${name}\\{priority_level="narrow"\\} (\\d+)$`, 'm').exec(exposed)?.[1]);
    };
    const waiting = (): Promise<number> => metric('apiserver_flowcontrol_current_inqueue_requests');
    // A write takes more than one seat while etcd is slow.
    await until('all to hang or to wait', async () => {
      const hanging = held.length;
      return (hanging > 0 && (await waiting()) === noisy.length - hanging) || undefined;
    });
    const hanging = held.length;
    let isServed = false;
    const polite = send('polite', 'POST', collection, { metadata: { name: 'polite' } }).finally(
      () => (isServed = true),
    );
    await until('another one to wait', async () => (await waiting()) === noisy.length - hanging + 1 || undefined);
    // It may need the seats of several of those that hang, but of none that waits.
    for (let released = 1; !isServed && released <= hanging; released++) {
      held.shift()?.();
      await until('a free seat', () => isServed || answered >= released || undefined);
    }
    expect((await polite).status).toBe(201);
    const releasing = setInterval(() => held.shift()?.(), 1);
    for (const { status } of await Promise.all(noisy)) expect(status).toBe(201);
    clearInterval(releasing);
    expect(await metric('apiserver_flowcontrol_current_executing_seats')).toBe(0);
  } finally {
    for (const path of [`${schemas}/narrow`, `${levels}/narrow`]) await server.request('DELETE', path);
    await stop();
  }
});

test('the mandatory objects hold where none are stored, because no controller keeps them', async () => {
  const flags = ['--token-auth-file=users', '--controllers=namespace-controller'];
  const bare = await serveKinds(kinds, { flags, files: { users: tokens } });
  try {
    const dispatched =
      /^apiserver_flowcontrol_dispatched_requests_total\{(?=.*flow_schema="catch-all").*priority_level="catch-all".*\} [1-9]/m;
    await until('a request in the catch-all', async () => {
      const ask = (token: string, path: string) => requestHttps(`${bare.url}${path}`, { ca: bare.certificate, token });
      expect((await ask('polite', '/version')).status).toBe(200);
      return dispatched.test((await ask('secret', '/metrics')).text) || undefined;
    });
    expect((await bare.request('GET', levels)).body.items).toEqual([]);
  } finally {
    await bare.close();
  }
});
