/**
 * Measures the cost of authorizing a GET: for a member of system:masters, for a service account whose permission comes
 * from one of 10,000 bindings to 1,000 roles, and for a user whose permission comes from the cached decision of a
 * webhook (see compared-servers.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/authorizers.ts [--save]`
 */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:https';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { adminToken, type BenchServer, compareTurns, startBenchServer, thisCheckout } from './compared-servers.ts';
import { saveFeature } from './save-measured.ts';

const roles = 1_000;
const bindings = 10_000;
const namespaces = 100;
/** Objects that the kit creates, one per namespace. */
const objects = 10_000;
/** Concurrent requests that fill the store, or the cache of webhook decisions. */
const writers = 16;
const readers = 16;
const rbacGroup = 'rbac.authorization.k8s.io';

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'authorizers-'));
const etcd = await startEtcd();
const webhook = await startWebhook();
const common = { endpoints: etcd.endpoints, home, checkout: thisCheckout };
const key = path.join(home, 'accounts.key');
fs.writeFileSync(
  key,
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
);
const rbac = await startBenchServer({
  ...common,
  name: 'rbac',
  flags: [
    '--service-account-issuer=https://issuer.example.com',
    `--service-account-signing-key-file=${key}`,
    `--service-account-key-file=${key}`,
  ],
});
const hooked = await startBenchServer({
  ...common,
  name: 'webhook',
  flags: [`--authorization-config=${webhook.configuration}`],
  users: ['u,user,'],
});
try {
  const token = await fillWithRoles(rbac);
  const ofRoles = await compareTurns('get-quorum', [{ server: rbac }, { server: rbac, token }]);
  saveFeature('RBAC: 1,000 roles, 10,000 bindings', ofRoles);
  await readEach(hooked, 'u'); // the decision cache has one entry per object
  const ofDecisions = await compareTurns('get-quorum', [{ server: hooked }, { server: hooked, token: 'u' }]);
  saveFeature('authorization webhook, cached decision', ofDecisions);
} finally {
  await Promise.all([rbac, hooked].map((side) => side.stop()));
  webhook.server.close();
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

/** Reads the objects that the kit created. */
async function readEach({ url, ca }: BenchServer, token: string): Promise<void> {
  const clients = Array.from({ length: readers }, () => http1Client(url, { ca, token }));
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      for (let index = next++; index < objects; index = next++) {
        const target = `/api/v1/namespaces/bench-${index % namespaces}/serviceaccounts/sa-${index}`;
        await requireSuccess(client, 'GET', target);
      }
      client.close();
    }),
  );
}

/** Creates the roles and bindings. Returns the token of a service account that one of them allows to read. */
async function fillWithRoles({ url, ca }: BenchServer): Promise<string> {
  const clients = Array.from({ length: writers }, () => http1Client(url, { ca, token: adminToken }));
  const post = (index: number, target: string, body: object): Promise<string> =>
    requireSuccess(clients[index % writers] as (typeof clients)[number], 'POST', target, { body });
  const inTurn = async (count: number, make: (index: number) => Promise<unknown>): Promise<void> => {
    let next = 0;
    await Promise.all(
      clients.map(async () => {
        while (next < count) await make(next++);
      }),
    );
  };
  const namespaced = (index: number, plural: string): string =>
    `/apis/${rbacGroup}/v1/namespaces/team-${index % namespaces}/${plural}`;
  const rules = [{ apiGroups: [''], resources: ['serviceaccounts', 'events'], verbs: ['get', 'list', 'watch'] }];
  await inTurn(roles, (index) =>
    post(index, namespaced(index, 'roles'), { metadata: { name: `role-${index}` }, rules }),
  );
  await inTurn(bindings, (index) =>
    post(index, namespaced(index, 'rolebindings'), {
      metadata: { name: `binding-${index}` },
      roleRef: { apiGroup: rbacGroup, kind: 'Role', name: `role-${index % roles}` },
      subjects: [{ apiGroup: rbacGroup, kind: 'User', name: `user-${index}` }],
    }),
  );
  await post(0, '/api/v1/namespaces/team-0/serviceaccounts', { metadata: { name: 'reader' } });
  await post(0, `/apis/${rbacGroup}/v1/clusterrolebindings`, {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace: 'team-0' }],
  });
  const issued = await post(0, '/api/v1/namespaces/team-0/serviceaccounts/reader/token', { spec: {} });
  for (const client of clients) client.close();
  return (JSON.parse(issued) as { status: { token: string } }).status.token;
}

/** An authorization webhook that allows everything. */
async function startWebhook() {
  const { certificate, privateKey } = await createSelfSigned(
    { commonName: 'webhook', hosts: ['127.0.0.1'] },
    systemClock,
    systemRandom(),
  );
  const server = createServer({ cert: certificate, key: privateKey }, (request, response) => {
    request.resume().on('end', () =>
      response.end(
        JSON.stringify({
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          status: { allowed: true },
        }),
      ),
    );
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const write = (name: string, text: string): string => {
    const file = path.join(home, name);
    fs.writeFileSync(file, text);
    return file;
  };
  const ca = write('webhook.crt', certificate);
  const connection = write(
    'connection.yaml',
    `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:${port}/", certificate-authority: ${ca}}}]
users: [{name: a, user: {}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
`,
  );
  const configuration = write(
    'authorization.yaml',
    `apiVersion: apiserver.config.platform.io/v1
kind: AuthorizationConfiguration
authorizers:
  - type: Webhook
    name: hook
    webhook:
      authorizedTTL: 10m
      unauthorizedTTL: 10s
      timeout: 3s
      subjectAccessReviewVersion: v1
      matchConditionSubjectAccessReviewVersion: v1
      failurePolicy: Deny
      connectionInfo: {type: PlatformConfigFile, platformConfigFile: ${connection}}
`,
  );
  return { server, configuration };
}
