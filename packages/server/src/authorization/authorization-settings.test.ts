import { describe, expect, test } from '@jest/globals';
import { FlagError, readSettings } from '../flags/flag.ts';
import { parseFlags } from '../flags/flags.ts';
import { loadFlagAuthorizers } from './authorizers.ts';
import { authorizationSettingsOf } from './authorization-settings.ts';

const kubeconfig = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [{ name: 'c', cluster: { server: 'https://reviews.example.com/' } }],
  contexts: [{ name: 'x', context: { cluster: 'c' } }],
  'current-context': 'x',
});
const files = {
  read: async (path: string) => Buffer.from(path === 'hook' ? kubeconfig : 'x'),
  list: async () => [],
  mode: async () => 0o600,
  write: async () => {},
};
const read = async (...args: string[]) => {
  const settings = readSettings(authorizationSettingsOf, parseFlags(args.map((arg) => `--${arg}`)));
  return (await loadFlagAuthorizers(settings, files)).authorizers;
};

test('the default mode is RBAC', async () => {
  expect(await read()).toEqual([{ type: 'RBAC', name: 'rbac' }]);
});

test('modes keep their order, in either spelling', async () => {
  expect(await read('authorization-mode=AlwaysDeny,RBAC')).toEqual([
    { type: 'AlwaysDeny', name: 'alwaysdeny' },
    { type: 'RBAC', name: 'rbac' },
  ]);
  expect(await read('authorization-mode=RBAC', 'authorization-mode=AlwaysAllow')).toMatchObject([
    { type: 'RBAC' },
    { type: 'AlwaysAllow' },
  ]);
  expect(await read('authorization-modes=AlwaysAllow')).toMatchObject([{ type: 'AlwaysAllow' }]);
});

test('the webhook of flags has the defaults of kube-apiserver', async () => {
  const webhook = ['authorization-mode=Webhook', 'authorization-webhook-config-file=hook'];
  const settings = {
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    timeoutMs: 30_000,
    subjectAccessReviewVersion: 'v1beta1',
    failurePolicy: 'NoOpinion',
    connectionFile: 'hook',
    connection: { server: new URL('https://reviews.example.com/') },
    matchConditions: [],
  };
  expect(await read(...webhook)).toMatchObject([{ type: 'Webhook', name: 'default', webhook: settings }]);
  const more = ['version=v1', 'cache-authorized-ttl=1s', 'cache-unauthorized-ttl=0s'];
  expect(await read(...webhook, ...more.map((flag) => `authorization-webhook-${flag}`))).toMatchObject([
    { webhook: { subjectAccessReviewVersion: 'v1', authorizedTtlMs: 1_000, unauthorizedTtlMs: 0 } },
  ]);
});

describe('invalid combinations are reported', () => {
  const together = 'go together';
  const exclusive = 'exclude each other';
  test.each([
    [['authorization-mode=Node,RBAC'], 'there are no nodes here, so Node is not supported'],
    [['authorization-mode=rbac'], '"rbac" is none of ABAC, AlwaysAllow, AlwaysDeny, RBAC, Webhook'],
    [['authorization-mode=RBAC,RBAC'], 'RBAC is given twice'],
    [['authorization-mode=RBAC', 'authorization-modes=RBAC'], 'RBAC is given twice'],
    [['authorization-mode=ABAC'], together],
    [['authorization-policy-file=x'], together],
    [['authorization-mode=Webhook'], together],
    [['authorization-webhook-config-file=x'], together],
    [['authorization-mode=Webhook', 'authorization-webhook-config-file=x'], '--authorization-webhook-config-file: '],
    ...['mode=RBAC', 'modes=RBAC', 'webhook-config-file=x', 'webhook-version=v1'].map((flag) => [
      ['authorization-config=x', `authorization-${flag}`],
      exclusive,
    ]),
    [['authorization-config=x', 'authorization-webhook-cache-authorized-ttl=1s'], exclusive],
    [['authorization-config=x', 'authorization-webhook-cache-unauthorized-ttl=1s'], exclusive],
  ] as [string[], string][])('%j', async (args, fault) => {
    await expect(read(...args)).rejects.toThrow(FlagError);
    await expect(read(...args)).rejects.toThrow(fault);
  });

  test('reports all problems at once', async () => {
    await expect(read('authorization-mode=Node,ABAC,Webhook,X')).rejects.toThrow(
      /Node[^]*"X"[^]*policy-file[^]*webhook/,
    );
  });

  test('the policy file may be combined with a configuration file, which cannot name it', () => {
    const flags = parseFlags(['--authorization-config=x', '--authorization-policy-file=y']);
    expect(() => readSettings(authorizationSettingsOf, flags)).not.toThrow();
  });
});
