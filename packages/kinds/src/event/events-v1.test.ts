import { expect, test } from '@jest/globals';
import { invariant } from '@cluster-apiserver/base';
import type { ApiVersion, Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { assert, property } from 'fast-check';
import { anyObject } from '../../../model/test/any-object.ts';
import { errorTexts, problemsOf } from '../../test/problems-of.ts';
import { kinds } from '../index.ts';

const of = kinds({ eventLifetimeSeconds: 3600 }).find(({ kind }) => kind === 'Event') as Kind; // it is served
const { conversion } = of;
const version = of.versions.find(({ apiVersion }) => apiVersion === 'events.k8s.io/v1') as ApiVersion;
invariant(conversion.isImmediate, 'names are converted at once');
const fromStored = (object: KubeObject): KubeObject => conversion.convert(object, of, version);
const toStored = (object: KubeObject): KubeObject => conversion.convert(object, version, of);

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
  ...new Set(errorTexts(problemsOf(version, event(changes), current))),
];
const series = (count: number, lastObservedTime: string | null = good.eventTime) => ({
  series: { count, lastObservedTime },
});

test('an event is the same in both versions, whichever it was written in', () => {
  const names = { kind: of.kind, apiVersion: of.apiVersion };
  assert(
    property(anyObject(of.schema), (given) => {
      const stored = decode(of.schema, { ...given, ...names }, () => {});
      expect(JSON.stringify(toStored(fromStored(stored)))).toBe(JSON.stringify(stored));
    }),
    { numRuns: 300, seed: 3 },
  );
});

test.each<[string, object, string[]]>([
  ['all it needs', {}, []],
  ['no time', { eventTime: null }, ['eventTime Required']],
  ['another type', { type: 'Info' }, ['type Invalid']],
  ['no type', { type: '' }, ['type Invalid']],
  ['no reporter', { reportingController: '' }, ['reportingController Required', 'reportingController Invalid']],
  ['a reporter that is no name', { reportingController: 'a b' }, ['reportingController Invalid']],
  ['a series', series(2), []],
  ['a series of one', series(1), ['series.count Invalid']],
  ['a series never seen', series(2, null), ['series.lastObservedTime Required']],
  ['a name that is no subdomain', { metadata: { ...good.metadata, name: 'A' } }, ['metadata.name Invalid']],
  [
    'what older events had',
    { deprecatedCount: 1, deprecatedSource: { host: 'h' }, deprecatedLastTimestamp: '2026-01-01T00:00:00Z' },
    ['lastTimestamp Invalid', 'count Invalid', 'source Invalid'],
  ],
])('a new event with %s is rejected with the stored field names', (_, changes, mistakes) => {
  expect(errorsOf(changes).toSorted()).toEqual(mistakes.toSorted());
});

test.each<[object, string[]]>([
  [{}, []],
  [series(2), []],
  [series(1), ['series.count Invalid']],
  [series(2, null), ['series.lastObservedTime Required']],
  [{ metadata: { ...good.metadata, labels: { a: 'b' } } }, []],
  [{ note: 'other' }, ['message Invalid']],
  [{ regarding: { namespace: 'n', kind: 'Pod', name: 'q' } }, ['involvedObject Invalid']],
  [{ reportingController: 'example.com/d', type: 'Warning' }, ['reportingController Invalid', 'type Invalid']],
  [{ deprecatedCount: 2 }, ['count Invalid']],
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
