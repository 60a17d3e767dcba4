import { expect, test } from '@jest/globals';
import type { Cell } from '@cluster-apiserver/model/kind';
import { eventColumns } from './columns.ts';
import type { Event } from './event.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const event = (fields: Partial<Event>): Event => ({
  metadata: { name: 'a' },
  involvedObject: {},
  source: {},
  firstTimestamp: null,
  lastTimestamp: null,
  eventTime: null,
  reportingComponent: '',
  reportingInstance: '',
  ...fields,
});
const cells = (fields: Partial<Event>): Record<string, Cell> =>
  Object.fromEntries(eventColumns.map(({ name, value }) => [name, value(event(fields), now)]));

test('an event shows its object and its reporter', () => {
  expect(
    cells({
      involvedObject: { kind: 'Pod', name: 'web', fieldPath: 'spec.containers{c}' },
      reason: 'R',
      message: ' text \n',
      type: 'Warning',
      count: 7,
      source: { component: 'agent', host: 'n1' },
    }),
  ).toEqual({
    'Last Seen': '<unknown>',
    Type: 'Warning',
    Reason: 'R',
    Object: 'pod/web',
    Subobject: 'spec.containers{c}',
    Source: 'agent, n1',
    Message: 'text',
    'First Seen': '<unknown>',
    Count: 7,
    Name: 'a',
  });
});

test.each<[string, Partial<Event>, object]>([
  ['nothing', {}, { Object: '', Source: '', Count: 1, 'Last Seen': '<unknown>', 'First Seen': '<unknown>' }],
  ['a kind alone', { involvedObject: { kind: 'Pod' } }, { Object: 'pod' }],
  ['a first time alone', { firstTimestamp: '2026-01-01T00:59:00Z' }, { 'Last Seen': '60s', 'First Seen': '60s' }],
  [
    'both times',
    { firstTimestamp: '2026-01-01T00:55:00Z', lastTimestamp: '2026-01-01T00:59:50Z' },
    { 'Last Seen': '10s', 'First Seen': '5m' },
  ],
  ['the newer time', { eventTime: '2026-01-01T00:59:30.000000Z' }, { 'Last Seen': '30s', 'First Seen': '30s' }],
  [
    'a series',
    {
      count: 2,
      eventTime: '2026-01-01T00:50:00.000000Z',
      series: { count: 9, lastObservedTime: '2026-01-01T00:59:59.000000Z' },
    },
    { 'Last Seen': '1s', 'First Seen': '10m', Count: 9 },
  ],
  ['the newer reporter', { reportingComponent: 'c', reportingInstance: 'i' }, { Source: 'c, i' }],
  [
    'both reporters',
    { source: { component: 'old' }, reportingComponent: 'c', reportingInstance: 'i' },
    { Source: 'old, i' },
  ],
])('an event with %s is shown like this', (_, fields, expected) => {
  expect(cells(fields)).toMatchObject(expected);
});

test('the most important columns are shown without -o wide', () => {
  expect(eventColumns.filter(({ priority }) => !priority).map(({ name }) => name)).toEqual([
    'Last Seen',
    'Type',
    'Reason',
    'Object',
    'Message',
  ]);
});
