import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { decode, type KubeObject } from '@cluster-apiserver/model';
import { randomObject } from '../../../model/test/random-object.ts';
import { kinds } from '../index.ts';

const served = kinds({ eventLifetimeSeconds: 3600 });
const view = served.find(({ apiVersion }) => apiVersion === 'events.k8s.io/v1')?.view;
const { fromStored, toStored, rules, of } = view as NonNullable<typeof view>;

const good = {
  metadata: { name: 'a', namespace: 'n' },
  eventTime: '2026-01-01T00:00:00.000000Z',
  regarding: { namespace: 'n', kind: 'Pod', name: 'p' },
  reportingController: 'example.com/c',
  reportingInstance: 'i',
  action: 'Act',
  reason: 'R',
  note: 'text',
  type: 'Normal',
};
const event = (changes: object): KubeObject => toStored({ ...good, ...changes });
const errorsOf = (changes: object, current?: KubeObject): string[] => [
  ...new Set((rules.validate?.(event(changes), current) ?? []).map(({ field, reason }) => `${field} ${reason}`)),
];
const series = (count: number, lastObservedTime: string | null = good.eventTime) => ({
  series: { count, lastObservedTime },
});

test('an event is the same in both versions, whichever it was written in', () => {
  const random = seededRandom(3);
  for (let round = 0; round < 300; round++) {
    const names = { kind: of.kind, apiVersion: of.apiVersion };
    const stored = decode(of.schema, { ...randomObject(random, of.schema), ...names }, () => {});
    expect(JSON.stringify(toStored(fromStored(stored)))).toBe(JSON.stringify(stored));
  }
});

test.each<[string, object, string[]]>([
  ['all it needs', {}, []],
  ['no time', { eventTime: null }, ['eventTime FieldValueRequired']],
  ['another type', { type: 'Info' }, ['type FieldValueInvalid']],
  ['no type', { type: '' }, ['type FieldValueInvalid']],
  [
    'no reporter',
    { reportingController: '' },
    ['reportingController FieldValueRequired', 'reportingController FieldValueInvalid'],
  ],
  ['a reporter that is no name', { reportingController: 'a b' }, ['reportingController FieldValueInvalid']],
  ['a series', series(2), []],
  ['a series of one', series(1), ['series.count FieldValueInvalid']],
  ['a series never seen', series(2, null), ['series.lastObservedTime FieldValueRequired']],
  ['a name that is no subdomain', { metadata: { ...good.metadata, name: 'A' } }, ['metadata.name FieldValueInvalid']],
  [
    'what older events had',
    { deprecatedCount: 1, deprecatedSource: { host: 'h' }, deprecatedLastTimestamp: '2026-01-01T00:00:00Z' },
    ['lastTimestamp FieldValueInvalid', 'count FieldValueInvalid', 'source FieldValueInvalid'],
  ],
])('a new event with %s is rejected with the stored field names', (_, changes, mistakes) => {
  expect(errorsOf(changes).toSorted()).toEqual(mistakes.toSorted());
});

test.each<[object, string[]]>([
  [{}, []],
  [series(2), []],
  [series(1), ['series.count FieldValueInvalid']],
  [series(2, null), ['series.lastObservedTime FieldValueRequired']],
  [{ metadata: { ...good.metadata, labels: { a: 'b' } } }, []],
  [{ note: 'other' }, ['message FieldValueInvalid']],
  [{ regarding: { namespace: 'n', kind: 'Pod', name: 'q' } }, ['involvedObject FieldValueInvalid']],
  [
    { reportingController: 'example.com/d', type: 'Warning' },
    ['reportingController FieldValueInvalid', 'type FieldValueInvalid'],
  ],
  [{ deprecatedCount: 2 }, ['count FieldValueInvalid']],
])('an update of an event by %j changes immutable fields: %j', (changes, mistakes) => {
  expect(errorsOf(changes, event({})).toSorted()).toEqual(mistakes.toSorted());
});

test('a series that an update leaves alone may stay as another version wrote it', () => {
  expect(errorsOf({ ...series(1), note: good.note }, event(series(1)))).toEqual([]);
});

test('an event of core/v1 without fields that new ones require can be updated', () => {
  const older = { eventTime: null, type: '', deprecatedCount: 3 };
  expect(errorsOf({ ...older, ...series(3) }, event(older))).toEqual([]);
});
