import { describe, expect, test } from '@jest/globals';
import type { RetirableClient } from '@cluster-apiserver/gates';
import { WebhookClients, type WebhookClientsOptions } from './webhook-clients.ts';

type Opened = Parameters<WebhookClientsOptions['open']>[0];

const opened: Opened[] = [];
const ended: string[] = [];
const clients = (): WebhookClients => {
  opened.length = ended.length = 0;
  return new WebhookClients({
    open: (options) => {
      const at = opened.push(options);
      const client: RetirableClient = {
        send: () => Promise.reject(new Error('not sent')),
        retire: () => void ended.push(`retired ${at}`),
        close: () => void ended.push(`closed ${at}`),
      };
      return client;
    },
    resolveService: (namespace, name) =>
      new Map([
        ['team/policy', '10.0.0.7:8443'],
        ['team/portless', 'policy.example.com'],
        ['team/six', '[::1]:8443'],
      ]).get(`${namespace}/${name}`),
  });
};

describe('An endpoint', () => {
  test.each<[string, object, string, string]>([
    ['policy', {}, 'https://10.0.0.7:8443/', 'policy.team.svc:443'],
    ['policy', { path: '/a/b', port: 9443 }, 'https://10.0.0.7:8443/a/b', 'policy.team.svc:9443'],
    ['portless', { port: 9443 }, 'https://policy.example.com:9443/', 'portless.team.svc:9443'],
    ['portless', {}, 'https://policy.example.com/', 'portless.team.svc:443'],
    ['six', {}, 'https://[::1]:8443/', 'six.team.svc:443'],
  ])('of the service %s with %j is %s', (name, more, url, host) => {
    const found = clients().resolveEndpoint({ service: { namespace: 'team', name, ...more } });
    expect([found.url.href, found.headers['host'], found.serverName]).toEqual([url, host, `${name}.team.svc`]);
  });

  test('of a service that is not configured is none', () => {
    expect(() => clients().resolveEndpoint({ service: { namespace: 'other', name: 'policy' } })).toThrow(
      'no address is known for the service other/policy',
    );
  });
});

test('only webhooks with the same server and CA bundle share a client', () => {
  const all = clients();
  const clientOf = (url: string, caBundle?: string) =>
    all.getClient(all.resolveEndpoint({ url, ...(caBundle && { caBundle }) }));
  const first = clientOf('https://a.example.com/one', 'QQ==');
  expect(clientOf('https://a.example.com/two', 'QQ==')).toBe(first);
  expect(clientOf('https://a.example.com/one', 'Qg==')).not.toBe(first);
  expect(clientOf('https://a.example.com/one')).not.toBe(first);
  expect(clientOf('https://b.example.com/one', 'QQ==')).not.toBe(first);
  expect(opened).toMatchObject([{ ca: Buffer.from('A') }, { ca: Buffer.from('B') }, { ca: undefined }, {}]);
  all.close();
  expect(ended).toEqual(['closed 1', 'closed 2', 'closed 3', 'closed 4']);
});

test('the least recently used client is closed when there are too many', () => {
  const all = clients();
  const use = (at: number) => all.getClient(all.resolveEndpoint({ url: `https://${at}.example.com/` }));
  for (let at = 1; at <= 200; at++) use(at);
  use(1);
  use(201);
  expect(ended).toEqual(['retired 2']);
});

test('clients with large CA bundles are closed earlier', () => {
  const all = clients();
  const caBundle = 'QUFB'.repeat(256 * 1024);
  for (let at = 1; at <= 33; at++) all.getClient(all.resolveEndpoint({ url: `https://${at}.example.com/`, caBundle }));
  expect(ended).toEqual(['retired 1', 'retired 2']);
});
