import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Random, seededRandom } from '@cluster-apiserver/base';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type InMemoryServer, serveInMemory } from '../serve-in-memory.ts';
import { choose, chooseSome } from './choose.ts';

// The package `model` compares the results of random patches with reference implementations. Here patches pass through
// the whole server in memory: it accepts them or reports why not, and never fails internally.

const seed = 6;
const patchesOfEachType = repetitions({ ci: 2_500, soak: 10_000 });
const patienceMs = 180_000;
/** Patches applied to an object before it is recreated. */
const patchesOfOne = 20;

let server: InMemoryServer;

beforeAll(async () => {
  server = await serveInMemory({ random: seededRandom(seed) });
});

afterAll(() => server.close());

const request = (...request: Parameters<InMemoryServer['request']>): Promise<ApiResponse> => server.request(...request);

const rbac = 'rbac.authorization.k8s.io/v1';
const places = [
  { path: '/api/v1/namespaces/n/serviceaccounts', apiVersion: 'v1', kind: 'ServiceAccount' },
  { path: '/api/v1/namespaces/n/events', apiVersion: 'v1', kind: 'Event' },
  { path: '/apis/events.k8s.io/v1/namespaces/n/events', apiVersion: 'events.k8s.io/v1', kind: 'Event' },
  { path: `/apis/${rbac}/namespaces/n/roles`, apiVersion: rbac, kind: 'Role' },
  { path: `/apis/${rbac}/namespaces/n/rolebindings`, apiVersion: rbac, kind: 'RoleBinding' },
] as const;
type Place = (typeof places)[number];

/** The initial object. */
const whole = ({ apiVersion, kind }: Place): object => ({
  apiVersion,
  kind,
  metadata: { name: 'x', namespace: 'n', labels: { a: '1' }, finalizers: ['e.com/a', 'e.com/b'] },
  ...fieldsOf[`${kind} of ${apiVersion}`],
});
const fieldsOf: Readonly<Record<string, object>> = {
  'ServiceAccount of v1': { secrets: [{ name: 'a' }, { name: 'b' }] },
  'Event of v1': { involvedObject: { namespace: 'n', name: 'a' }, reason: 'R', count: 1 },
  'Event of events.k8s.io/v1': {
    regarding: { namespace: 'n', name: 'a' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reason: 'R',
    action: 'a',
    type: 'Normal',
    reportingController: 'e.com/c',
    reportingInstance: 'i',
  },
  [`Role of ${rbac}`]: { rules: [{ apiGroups: [''], resources: ['events'], verbs: ['get'] }] },
  [`RoleBinding of ${rbac}`]: { roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'User', name: 'u' }] },
};

/** Random patches by type. */
const types: Readonly<Record<string, (random: Random, place: Place) => unknown>> = {
  'application/json-patch+json': (random) =>
    Array.from({ length: 1 + random.below(2) }, () => {
      const [path, value] = choose(random, [inMetadata, inMetadata, inMetadata, anywhere])(random);
      const op = choose(random, [
        'add',
        'add',
        'add',
        'add',
        'add',
        'replace',
        'remove',
        'move',
        'copy',
        'test',
        'other',
      ]);
      return {
        op,
        path,
        from: choose(random, [inMetadata, anywhere])(random)[0],
        ...(random.below(12) > 0 && { value }),
      };
    }),
  'application/merge-patch+json': (random) => objectLike(random),
  'application/strategic-merge-patch+json': (random) => objectLike(random, directives),
  'application/apply-patch+yaml': (random, { apiVersion, kind }) => ({ apiVersion, kind, ...objectLike(random) }),
};

const scalars = [
  null,
  true,
  false,
  0,
  1,
  -1,
  1.5,
  1e30,
  '',
  '1',
  'a',
  'x y',
  'e.com/a',
  'v1',
  'Event',
  'ServiceAccount',
  'n',
  'x',
  '2026-01-01T00:00:00Z',
];
const metadataNames = [
  'labels',
  'labels',
  'annotations',
  'annotations',
  'finalizers',
  'ownerReferences',
  'managedFields',
  'resourceVersion',
  'uid',
  'name',
  'namespace',
  'generateName',
  'creationTimestamp',
  'deletionTimestamp',
  'generation',
  'selfLink',
];
const names = [
  'secrets',
  'imagePullSecrets',
  'automountServiceAccountToken',
  'involvedObject',
  'regarding',
  'series',
  'source',
  'reason',
  'count',
  'note',
  'message',
  'type',
  'eventTime',
  'firstTimestamp',
  'rules',
  'roleRef',
  'subjects',
  'kind',
  'apiVersion',
];
const keys = [
  'a',
  'b',
  'name',
  'uid',
  'e.com/a',
  '__proto__',
  'constructor',
  'f:metadata',
  'manager',
  'operation',
  'fieldsV1',
  'time',
  'blockOwnerDeletion',
];
const directives = [
  '$patch',
  '$retainKeys',
  '$setElementOrder/secrets',
  '$setElementOrder/finalizers',
  '$deleteFromPrimitiveList/finalizers',
];

/** Mostly resembles an object, so that not every patch is rejected for its first error. */
function objectLike(random: Random, also: readonly string[] = []): object {
  const metadata = fill(random, [...metadataNames, ...also], 3, metadataValue);
  const rest = fill(random, [...names, ...also], 2, value);
  return random.below(4) === 0 ? rest : { metadata: random.below(10) === 0 ? anything(random, 1) : metadata, ...rest };
}

const fill = (
  random: Random,
  from: readonly string[],
  most: number,
  each: (random: Random, name: string) => unknown,
): object => {
  const chosen = random.below(3) === 0 ? [] : chooseSome(random, from, most);
  return JSON.parse(
    `{${chosen.map((name) => `${JSON.stringify(name)}:${JSON.stringify(each(random, name))}`).join()}}`,
  );
};

function metadataValue(random: Random, name: string): unknown {
  if (random.below(8) === 0) return anything(random, 2);
  switch (name) {
    case 'labels':
    case 'annotations':
      return fill(random, ['a', 'b', 'e.com/a', '__proto__', ...directives.slice(0, 2)], 3, () =>
        choose(random, ['1', 'a', '', null]),
      );
    case 'finalizers':
      return chooseSome(random, ['e.com/a', 'e.com/b', 'e.com/c'], 3);
    default:
      return value(random, name);
  }
}

function value(random: Random, name: string): unknown {
  if (random.below(8) === 0) return anything(random, 2);
  if (name.endsWith('ecrets') || name === 'ownerReferences' || name === 'managedFields')
    return Array.from({ length: random.below(3) }, () =>
      fill(random, ['name', 'name', ...keys, '$patch'], 2, (_, key) =>
        key === '$patch' ? choose(random, ['delete', 'replace', 'merge', 'x']) : choose(random, ['a', 'b', 'c', null]),
      ),
    );
  if (name === '$patch') return choose(random, ['delete', 'replace', 'merge', 'x']);
  return choose(random, scalars);
}

function anything(random: Random, depth: number): unknown {
  if (depth === 0 || random.below(2) === 0) return choose(random, scalars);
  const below = (): unknown => anything(random, depth - 1);
  return random.below(2) === 0
    ? Array.from({ length: random.below(3) }, below)
    : fill(random, [...keys, ...names, ...metadataNames, ...directives], 3, below);
}

/** A path for an operation, and a value that often fits there. */
type Pointed = readonly [path: string, value: unknown];

function inMetadata(random: Random): Pointed {
  const name = choose(random, [...metadataNames.slice(0, 6), ...metadataNames]);
  if (random.below(2) === 0) return [`/metadata/${name}`, metadataValue(random, name)];
  const below =
    name === 'finalizers' ? choose(random, ['0', '1', '-', '-1']) : choose(random, ['a', 'b', 'e.com~1a', '__proto__']);
  return [`/metadata/${name}/${below}`, choose(random, ['1', 'e.com/c', 'a', null])];
}

function anywhere(random: Random): Pointed {
  const name = choose(random, names);
  return choose<Pointed>(random, [
    [`/${name}`, value(random, name)],
    [`/secrets/${choose(random, ['0', '1', '-', 'a'])}`, { name: choose(random, keys) }],
    [`/${name}/${choose(random, [...keys, '0', '~2'])}`, anything(random, 1)],
    ['/metadata', anything(random, 2)],
    [choose(random, ['', 'a']), anything(random, 1)],
  ]);
}

test.each(Object.entries(types))(
  `${patchesOfEachType} random patches of type %s are accepted or rejected with a reason, never with an internal error`,
  async (type, patch) => {
    const random = seededRandom(seed);
    const answers = new Map<number, number>();
    const unexpected: unknown[] = [];
    for (let at = 0; at < patchesOfEachType; at += 1) {
      const place = places[Math.floor(at / patchesOfOne) % places.length] as Place;
      if (at % patchesOfOne === 0) {
        await request('PATCH', `${place.path}/x`, '{"metadata":{"finalizers":null}}', 'application/merge-patch+json');
        await request('DELETE', `${place.path}/x`);
        expect((await request('POST', place.path, JSON.stringify(whole(place)))).status).toBe(201);
      }
      const body = JSON.stringify(patch(random, place));
      const query = type.includes('apply')
        ? `?fieldManager=${choose(random, ['m', 'o'])}&force=${random.below(2) === 0}`
        : '';
      const { status } = await request('PATCH', `${place.path}/x${query}`, body, type);
      answers.set(status, (answers.get(status) ?? 0) + 1);
      if (![200, 201, 400, 404, 409, 422].includes(status)) unexpected.push({ at, status, body });
      if (at % patchesOfOne === patchesOfOne - 1) {
        const { status } = await request('GET', place.path);
        if (status !== 200) unexpected.push({ at, status, body: 'a list' });
      }
    }
    expect({ seed, unexpected: unexpected.slice(0, 5), faults: server.reportedErrors.slice(0, 5) }).toEqual({
      seed,
      unexpected: [],
      faults: [],
    });
    expect(answers.get(200)).toBeGreaterThan(patchesOfEachType / 20); // otherwise nearly all patches are rejected
  },
  patienceMs,
);
