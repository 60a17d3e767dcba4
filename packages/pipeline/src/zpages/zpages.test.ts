import { beforeEach, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { seededRandom } from '@cluster-apiserver/base';
import { askDocuments } from '../../test/ask-documents.ts';
import { textResponse } from '../responses.ts';
import { rootRoutes } from './listed-paths.ts';
import { type ReplicaStatus, zpageRoutes } from './zpages.ts';

let clock: FakeClock;
let ask: ReturnType<typeof askDocuments>;
const version = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.2+platform.0.1.0',
  gitCommit: '',
  gitTreeState: '',
  buildDate: '',
  goVersion: 'node24.21.0',
  compiler: '',
  platform: '',
};
const other = ({ auditId }: { readonly auditId: string }) => textResponse(auditId, 200, '');

beforeEach(() => {
  clock = fakeClock(0);
  const flags = { v: '2', 'etcd-servers': 'https://a:2379', 'event-ttl': '1h0m0s' };
  ask = askDocuments({
    '/metrics': other,
    '/livez': other,
    '/livez/*check': other,
    '/apis/': other,
    '/apis': other,
    '/apis/apps/v1': other,
    '/openapi/v2': other,
    '/metrics/slis': other,
    ...zpageRoutes({ component: 'tester', version, clock, random: seededRandom(1), flags }),
    ...rootRoutes,
  });
});

const heading = (name: string): string =>
  `\ntester ${name}\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n`;
const structured = (kind: string, version: string, type = 'application/json'): { readonly accept: string } => ({
  accept: `${type};v=${version};g=config.k8s.io;as=${kind}`,
});

test.each([undefined, '', 'text/plain', '*/*', 'text/*', 'application/json;v=v9;g=config.k8s.io;as=Statusz,*/*'])(
  'the status is text for who accepts %j',
  async (accept) => {
    clock.advance((3_600 + 2 * 60 + 5) * 1_000);
    const { status, headers, text } = await ask('/statusz', accept === undefined ? {} : { accept });
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text.startsWith(heading('statusz'))).toBe(true);
    const lines = text.slice(heading('statusz').length).split('\n');
    expect(lines.map((line) => line.replace(/(?<=^(Started|Up|.* version|Paths))(: |:|=| ) /, '~ '))).toEqual([
      '',
      'Started~ Thu Jan  1 00:00:00 UTC 1970',
      'Up~ 1 hr 02 min 05 sec',
      'Go version~ node24.21.0',
      'Binary version~ 1.36.2+platform.0.1.0',
      'Emulation version~ 1.36',
      'Paths~ /flagz /livez /metrics /statusz',
      '',
    ]);
  },
);

const replica = {
  identity: 'apiserver-a',
  isThisReplica: true,
  hostname: 'a',
  version: 'v1.36.2',
  observedRevision: '812',
  renewTime: '2026-01-31T12:00:00.000000Z',
  clockOffsetSeconds: 0,
  configuration: { flags: '1' },
  configurationDiffersIn: [],
};
const others = [
  { ...replica, identity: 'apiserver-b', isThisReplica: false, hostname: 'b', clockOffsetSeconds: -3.21 },
  { ...replica, identity: 'apiserver-c', isThisReplica: false, configurationDiffersIn: ['audit-policy-file', 'flags'] },
];

test('the status shows the replicas, what differs between them, and how their clocks differ', async () => {
  const random = seededRandom(1);
  const replicas = (): readonly ReplicaStatus[] => [replica, ...others];
  const document = askDocuments(zpageRoutes({ component: 'tester', version, clock, random, flags: {}, replicas }));
  const { text } = await document('/statusz');
  expect(text.split('\n').filter((line) => line.startsWith('Replica '))).toEqual([
    expect.stringMatching(
      /^Replica apiserver-a(: |:|=| ) *host a, version 1.36.2, revision 812, renewed 2026\S+Z, this replica$/,
    ),
    expect.stringMatching(/^Replica apiserver-b.*, clock -3.2 s$/),
    expect.stringMatching(/^Replica apiserver-c.*, clock \+0.0 s, other configuration: audit-policy-file flags$/),
  ]);
  const json = await document('/statusz', structured('Statusz', 'v1beta1'));
  expect(JSON.parse(json.text)).toMatchObject({ replicas: replicas() });
});

test('the flags are text in the order of their names', async () => {
  const { text } = await ask('/flagz');
  expect(text.startsWith(heading('flagz'))).toBe(true);
  expect(text.slice(heading('flagz').length)).toMatch(
    /^etcd-servers(: |:|=| )https:\/\/a:2379\nevent-ttl\1*1h0m0s\nv\1*2\n$/,
  );
});

test.each(['v1beta1', 'v1alpha1'])('the status is structured for who asks for %s', async (version) => {
  clock.advance(65_000);
  const { status, headers, text } = await ask('/statusz', structured('Statusz', version));
  expect([status, headers['content-type']]).toEqual([200, 'application/json']);
  expect(JSON.parse(text)).toEqual({
    kind: 'Statusz',
    apiVersion: `config.k8s.io/${version}`,
    metadata: { name: 'tester' },
    startTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    uptimeSeconds: 65,
    goVersion: 'node24.21.0',
    binaryVersion: '1.36.2+platform.0.1.0',
    emulationVersion: '1.36',
    paths: ['/flagz', '/livez', '/metrics', '/statusz'],
  });
  expect(headers['warning']).toBe(
    version === 'v1alpha1'
      ? '299 - "This version of the statusz endpoint is deprecated. Please use a newer version."'
      : undefined,
  );
});

test('the flags have a structured format, also as YAML', async () => {
  const json = await ask('/flagz', structured('Flagz', 'v1beta1'));
  expect(JSON.parse(json.text)).toEqual({
    kind: 'Flagz',
    apiVersion: 'config.k8s.io/v1beta1',
    metadata: { name: 'tester' },
    flags: { 'etcd-servers': 'https://a:2379', 'event-ttl': '1h0m0s', v: '2' },
  });
  const yaml = await ask('/flagz', structured('Flagz', 'v1beta1', 'application/yaml'));
  expect([yaml.headers['content-type'], yaml.text]).toEqual([
    'application/yaml',
    expect.stringContaining('event-ttl: "1h0m0s"\n'),
  ]);
});

test.each([
  'application/json',
  'application/json;v=v1beta1;g=config.k8s.io',
  'application/json;v=v9;g=config.k8s.io;as=Statusz',
  'application/json;v=v1beta1;g=config.k8s.io;as=Flagz',
  'application/xml',
  'text/plain;v=v1beta1;g=config.k8s.io;as=Statusz',
])('%s is not acceptable', async (accept) => {
  await expect(ask('/statusz', { accept })).rejects.toMatchObject({
    code: 406,
    message: 'only the following media types are accepted: application/json, application/yaml, text/plain',
  });
});

test.each(['/', '/index.html'])('%s lists the paths', async (path) => {
  const { status, headers, text } = await ask(path);
  expect([status, headers['content-type']]).toEqual([200, 'application/json']);
  expect(JSON.parse(text)).toEqual({
    paths: ['/apis', '/apis/apps/v1', '/flagz', '/livez', '/metrics', '/metrics/slis', '/openapi/v2', '/statusz'],
  });
});

test('a status is only read', async () => {
  await expect(ask('/statusz', {}, 'POST')).rejects.toMatchObject({ code: 405 });
});
