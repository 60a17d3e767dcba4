/**
 * Measures writes of very large objects: their duration, and the longest event-loop iteration in CPU time of
 * the thread, which excludes other work of the machine.
 * `node --max-semi-space-size=32 --heap-growing-percent=45 --conditions=source packages/tests/bench/large-writes.ts [SECRETS] [WRITES]`
 * WRITES is a regular expression over the names of the writes.
 */
import { kinds } from '@cluster-apiserver/kinds';
import { encodeProtobuf } from '@cluster-apiserver/model/codec';
import { watchTurns } from '@cluster-apiserver/testkit/turns';
import { serveInMemory } from '../test/serve-in-memory.ts';

const count = Number(process.argv[2] ?? 5_000);
const chosen = new RegExp(process.argv[3] ?? '');
const rounds = 12;
/** V8 compiles during the first rounds. */
const warmUpRounds = 2;
const server = await serveInMemory();

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly type: string;
  readonly body: Buffer;
}
const request = (method: string, target: string, type: string, body: Buffer): Asked => ({ method, target, type, body });

const numbered = <T>(amount: number, make: (at: number) => T): T[] =>
  Array.from({ length: amount }, (_, at) => make(at));
const mapOf = <T>(amount: number, key: string, value: T): Record<string, T> =>
  Object.fromEntries(numbered(amount, (at) => [`${key}${at}`, value]));
const secrets = (prefix: string, amount = count): { name: string }[] =>
  numbered(amount, (at) => ({ name: `${prefix}${at}` }));
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const types = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf',
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  operations: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

let round = 0;
type Write = readonly [name: string, make: () => Asked];

const account = (metadata: object, more: object = {}): object => ({
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  metadata,
  ...more,
});
const text = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const post = (metadata: object, more: object = {}): Asked =>
  request('POST', accounts, types.json, text(account({ name: `a${round}`, ...metadata }, more)));
const put = (metadata: object, more: object = {}): Asked =>
  request('PUT', `${accounts}/a${round}`, types.json, text(account({ name: `a${round}`, ...metadata }, more)));
const patch = (type: string, body: unknown): Asked => request('PATCH', `${accounts}/a${round}`, type, text(body));
const apply = (parameters: string, metadata: object, more: object): Asked =>
  request(
    'PATCH',
    `${accounts}/b${round}?${parameters}`,
    types.apply,
    text(account({ name: `b${round}`, ...metadata }, more)),
  );
const remove = (name: string): Write => [
  '',
  () => request('DELETE', `${accounts}/${name}${round}`, types.json, Buffer.from('')),
];

const accountSchema = kinds({ eventLifetimeSeconds: 0, serviceAccountTokens: undefined }).find(
  ({ kind }) => kind === 'ServiceAccount',
)?.schema;
const protobuf = (): Buffer =>
  encodeProtobuf(
    accountSchema as NonNullable<typeof accountSchema>,
    account({ name: `c${round}` }, { secrets: secrets('s') }) as { kind: string; apiVersion: string },
  );

const half = Math.floor(count / 2);
const owned = (fields: number): object[] => [
  {
    manager: 'm',
    operation: 'Update',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: mapOf(fields, 'f:field-', {}),
  },
];
const eventNames = (name: string): object => ({
  involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
  metadata: { name: `${name}${round}`, annotations: mapOf(count, 'a', 'v') },
});

const writes: readonly Write[] = [
  ['create', () => post({}, { secrets: secrets('s') })],
  ['replace', () => put({}, { secrets: secrets('t') })],
  ['replace with the same', () => put({}, { secrets: secrets('t') })],
  ['strategic patch: reorder', () => patch(types.strategic, { secrets: secrets('t').toReversed() })],
  [
    'strategic patch: half of them others',
    () =>
      patch(types.strategic, {
        secrets: [...secrets('t', half).map((entry) => ({ ...entry, $patch: 'delete' })), ...secrets('u', half)],
      }),
  ],
  ['merge patch of a label', () => patch(types.merge, { metadata: { labels: { a: 'b' } } })],
  ['merge patch', () => patch(types.merge, { secrets: secrets('v') })],
  [
    'JSON patch: 10,000 operations',
    () =>
      patch(
        types.operations,
        numbered(10_000, (at) => ({ op: 'replace', path: `/secrets/${at % count}/name`, value: `w${at}` })),
      ),
  ],
  [
    'JSON patch: doubling copies',
    () =>
      patch(types.operations, [
        { op: 'add', path: '/doubled', value: { a: 'x' } },
        ...numbered(40, (at) => ({ op: 'copy', from: '/doubled', path: `/doubled/copy-${at}` })),
      ]),
  ],
  ['patch that is refused', () => patch(types.merge, { metadata: { labels: { '-': '-' } } })],
  remove('a'),
  ['apply: create', () => apply('fieldManager=m', {}, { secrets: secrets('s') })],
  ['apply: same', () => apply('fieldManager=m', {}, { secrets: secrets('s') })],
  [
    'apply: half of them others',
    () => apply('fieldManager=m', {}, { secrets: [...secrets('s', half), ...secrets('t', half)] }),
  ],
  [
    'apply: conflict',
    () => apply('fieldManager=n', {}, { secrets: secrets('s', half).map((entry) => ({ ...entry, namespace: 'x' })) }),
  ],
  [
    'apply: force',
    () =>
      apply(
        'fieldManager=n&force=true',
        {},
        { secrets: secrets('s', half).map((entry) => ({ ...entry, namespace: 'x' })) },
      ),
  ],
  remove('b'),
  ['create from protobuf', () => request('POST', accounts, types.protobuf, protobuf())],
  remove('c'),
  ['create with annotations', () => post({ annotations: mapOf(count, 'a', 'v') })],
  ['replace annotations', () => put({ annotations: mapOf(count, 'a', 'w') })],
  [
    'strategic patch of annotations',
    () => patch(types.strategic, { metadata: { annotations: mapOf(count, 'a', 'x') } }),
  ],
  remove('a'),
  ['create with finalizers', () => post({ finalizers: numbered(count, (at) => `a/${at}`) })],
  ['replace finalizers', () => put({ finalizers: numbered(count, (at) => `b/${at}`) })],
  ['remove finalizers', () => put({})],
  remove('a'),
  [
    'create with owners',
    () =>
      post({ ownerReferences: numbered(count, (at) => ({ apiVersion: 'v1', kind: 'K', name: 'n', uid: `${at}` })) }),
  ],
  remove('a'),
  ['create with managedFields', () => post({ managedFields: owned(2 * count) })],
  ['update with managedFields', () => put({ managedFields: owned(2 * count - 1) })],
  remove('a'),
  ['create with a text of 1.3 MB', () => post({}, { secrets: [{ name: 'é'.repeat(650_000) }] })],
  ['replace a text of 1.3 MB', () => put({}, { secrets: [{ name: 'è'.repeat(650_000) }] })],
  remove('a'),
  ['create an event', () => request('POST', '/api/v1/namespaces/default/events', types.json, text(eventNames('e')))],
  [
    'merge patch of an event through events.k8s.io',
    () =>
      request(
        'PATCH',
        `/apis/events.k8s.io/v1/namespaces/default/events/e${round}`,
        types.merge,
        text({ metadata: { annotations: mapOf(count, 'a', 'w') } }),
      ),
  ],
  ['', () => request('DELETE', `/api/v1/namespaces/default/events/e${round}`, types.json, Buffer.from(''))],
  ['labels beyond the bound', () => post({ labels: mapOf(20_000, 'label-', 'value') })],
  ['bad labels beyond the bound', () => post({ labels: mapOf(100_000, 'label-', '!bad!') })],
  ['finalizers beyond the bound', () => post({ finalizers: numbered(100_000, (at) => `-bad-${at}`) })],
  ['secrets beyond the bound', () => post({}, { secrets: secrets('s', 12_000) })],
  ['managedFields beyond the bound', () => post({ managedFields: owned(100_000) })],
];

interface Measured {
  readonly status: number;
  readonly processorMs: number;
  readonly turns: number;
  readonly longestTurnMs: number;
  /** Excludes garbage collection. */
  readonly longestWorkMs: number;
}

async function measure(make: () => Asked): Promise<Measured> {
  const { method, target, type, body } = make();
  const watched = watchTurns(0.3);
  const { status } = await server.request(method, target, body, type);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const turns = watched.end();
  return {
    status,
    processorMs: turns.reduce((sum, { processorMs }) => sum + processorMs, 0),
    turns: turns.length,
    longestTurnMs: turns[0]?.processorMs ?? 0,
    longestWorkMs: Math.max(0, ...turns.map(({ processorMs, pausedMs }) => processorMs - pausedMs)),
  };
}

const measured = new Map<string, Measured[]>();
for (round = 0; round < rounds; round++)
  for (const [name, make] of writes) {
    const one = await measure(make);
    if (name === '' || round < warmUpRounds) continue;
    const known = measured.get(name);
    if (known) known.push(one);
    else measured.set(name, [one]);
  }

const medianOf = (values: readonly number[]): string =>
  (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0).toFixed(1);
const maximumOf = (values: readonly number[]): string => Math.max(...values).toFixed(1);

console.log(
  `| ${count} entries | status | CPU ms | iterations | longest iteration ms: median | maximum | maximum without pauses of V8's collector |\n` +
    '|---|---|---|---|---|---|---|',
);
for (const [name, all] of measured) {
  if (!chosen.test(name)) continue;
  const statuses = [...new Set(all.map(({ status }) => status))].join(', ');
  const cells = [
    name,
    statuses,
    medianOf(all.map(({ processorMs }) => processorMs)),
    medianOf(all.map(({ turns }) => turns)).replace('.0', ''),
    medianOf(all.map(({ longestTurnMs }) => longestTurnMs)),
    maximumOf(all.map(({ longestTurnMs }) => longestTurnMs)),
    maximumOf(all.map(({ longestWorkMs }) => longestWorkMs)),
  ];
  console.log(`| ${cells.join(' | ')} |`);
}
await server.close();
