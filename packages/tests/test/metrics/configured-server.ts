/** A server that configures everything with metrics, and a load for it. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { CleanupStack, systemClock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority } from '@cluster-apiserver/certificates';
import { kinds } from '@cluster-apiserver/kinds';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { configuration as authentication } from '../authentication/configuration.ts';
import { configuration as authorization } from '../authorization/configuration.ts';
import { configuration as encryption, provider, kmsProviders } from '../encryption/configuration.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { withAccountTokens } from '../service-accounts/with-account-tokens.ts';
import { startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';

export interface ConfiguredServer extends TestServer {
  /** Sends valid and invalid requests of each verb. */
  load(): Promise<void>;
  scrape(path?: string, headers?: Readonly<Record<string, string>>): Promise<Scraped>;
}

export interface Scraped {
  readonly contentType: string;
  readonly text: string;
}

const policy = { apiVersion: 'abac.authorization.kubernetes.io/v1beta1', kind: 'Policy' };

export async function serveConfigured(): Promise<ConfiguredServer> {
  const cleanup = new CleanupStack();
  const folder = mkdtempSync(join(tmpdir(), 'metrics-'));
  cleanup.defer('folder', () => rmSync(folder, { recursive: true }));
  const socket = join(folder, 'kms.sock');
  const plugin = await startPlugin(socket);
  cleanup.defer('plugin', () => plugin.stop());
  const receiver = await startReceiver();
  cleanup.defer('receiver of traces', () => receiver.stop());
  const authority = await createAuthority('clients', systemClock, systemRandom());
  const options = withAccountTokens({
    flags: [
      '--encryption-provider-config=encryption.yaml',
      '--encryption-provider-config-automatic-reload',
      '--authentication-config=authentication.yaml',
      '--authorization-config=authorization.yaml',
      '--authorization-policy-file=policies.jsonl',
      '--client-ca-file=clients.crt',
      '--tracing-config-file=tracing.json',
      '--audit-policy-file=audit.json',
      `--audit-log-path=${join(folder, 'audit.log')}`,
    ],
    files: {
      'encryption.yaml': encryption(...kmsProviders('v2', socket, 'vault'), provider('aesgcm', 'one')),
      'authentication.yaml': authentication({ anonymous: { enabled: true, conditions: [{ path: '/livez' }] } }),
      'authorization.yaml': authorization({ type: 'RBAC', name: 'rbac' }, { type: 'ABAC', name: 'abac' }),
      'policies.jsonl': JSON.stringify({ ...policy, spec: { user: 'robot', namespace: 'team', resource: '*' } }),
      'audit.json': JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] }),
      'clients.crt': authority.certificate,
      'tracing.json': JSON.stringify({
        apiVersion: 'apiserver.config.platform.io/v1',
        kind: 'TracingConfiguration',
        endpoint: receiver.address,
      }),
    },
  });
  const server = await serveKinds(kinds, { ...options, cleanup, errorsExpected: true });
  const scrape = async (path = '/metrics', headers: Readonly<Record<string, string>> = {}): Promise<Scraped> => {
    const { certificate: ca, token } = server;
    const { headers: received, text } = await requestHttps(`${server.url}${path}`, { ca, token, headers });
    return { contentType: received['content-type'] ?? '', text };
  };
  return { ...server, scrape, load: () => sendLoad(server) };
}

const accounts = '/api/v1/namespaces/team/serviceaccounts';

async function sendLoad({ request, open, url, certificate }: TestServer): Promise<void> {
  const watch = await open('GET', `${accounts}?watch=true&timeoutSeconds=600`);
  const firstEvent = once(watch, 'data');
  const account = (name: string): object => ({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } });
  for (const name of ['a', 'b', 'c']) await request('POST', accounts, account(name));
  await firstEvent;
  watch.destroy();
  await request('POST', `${accounts}?dryRun=All`, account('d'));
  await request('GET', `${accounts}/a`);
  await request('GET', `${accounts}/none`);
  await request('GET', accounts);
  await request('GET', '/api/v1/serviceaccounts');
  await request('PUT', `${accounts}/a`, account('a'));
  await request('PATCH', `${accounts}/a`, { metadata: { labels: { x: 'y' } } }, 'application/merge-patch+json');
  const applied = { ...account('e'), metadata: { name: 'e' } };
  await request('PATCH', `${accounts}/e?fieldManager=m`, applied, 'application/apply-patch+yaml');
  await request('DELETE', `${accounts}/a`);
  await request('DELETE', accounts);
  for (const path of ['/livez', '/readyz?verbose', '/version', '/nowhere']) (await open('GET', path)).resume();
  await requestHttps(`${url}${accounts}`, { ca: certificate });
}
