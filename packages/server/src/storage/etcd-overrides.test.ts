import { expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { FlagError, readSettings } from '../flags/flag.ts';
import { parseFlags } from '../flags/flags.ts';
import { etcdOfKind, type EtcdSettings } from './etcd-overrides.ts';
import { storageSettingsOf } from './storage-settings.ts';

const flag = '--etcd-servers-overrides';

function etcdsWith(...overrides: readonly string[]): readonly [EtcdSettings, ...EtcdSettings[]] {
  const flags = parseFlags(['--etcd-servers=http://a:1,http://b:1', ...overrides.map((one) => `${flag}=${one}`)]);
  return readSettings(storageSettingsOf, flags).etcds;
}

const shown = (...overrides: readonly string[]) =>
  etcdsWith(...overrides).map(({ id, endpoints, resources }) => [id, endpoints.join(), [...resources].join()]);
const first = ['etcd-0', 'http://a:1,http://b:1', ''];

test('without overrides there is one etcd', () => {
  expect(shown()).toEqual([first]);
});

test('each distinct set of URLs is one etcd, in whatever order they are', () => {
  expect(shown('/events#http://c:1;http://d:1,example.com/lamps#http://d:1/;http://c:1', 'a.b/c#e:1')).toEqual([
    first,
    ['etcd-1', 'http://c:1,http://d:1', 'events,lamps.example.com'],
    ['etcd-2', 'http://e:1', 'c.a.b'],
  ]);
});

test('an override with the URLs of the other kinds opens no connections of its own', () => {
  expect(shown('/events#http://b:1;http://a:1')).toEqual([first]);
});

test('a kind is found under the name of each of its versions', () => {
  const [event, account] = ['Event', 'ServiceAccount'].map((name) =>
    kinds({ eventLifetimeSeconds: 0 }).find(({ kind }) => kind === name),
  );
  for (const group of ['', 'events.k8s.io']) {
    const etcds = etcdsWith(`${group}/events#http://c:1`);
    expect([event, account].map((kind) => kind && etcdOfKind(etcds, kind).id)).toEqual(['etcd-1', 'etcd-0']);
  }
});

const form = 'expected group/resource#url;url, such as /events#http://127.0.0.1:2379';
test.each([
  ['events#http://c:1', form],
  ['/events', form],
  ['/events#', '"" is no URL such as http://127.0.0.1:2379'],
  ['/events#http://c:1;nowhere', '"nowhere" is no URL such as http://127.0.0.1:2379'],
  ['/#http://c:1', form],
  ['/event#http://c:1', 'there is no kind event'],
  ['apps/deployments#http://c:1', 'there is no kind deployments.apps'],
  ['coordination.k8s.io/events#http://c:1', 'there is no kind events.coordination.k8s.io'],
])('%s is refused', (item, problem) => {
  expect(() => etcdsWith(item, 'example.com/lamps#http://c:1')).toThrow(
    new FlagError([`${flag}: ${item}: ${problem}`]),
  );
});

test('one kind has one override', () => {
  expect(() => etcdsWith('/events#http://c:1', '/events#http://d:1')).toThrow(
    new FlagError([`${flag}: /events#http://d:1: the kind has another override`]),
  );
});
