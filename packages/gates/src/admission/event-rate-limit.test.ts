import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { contextOf } from '../../test/admission.ts';
import type { AdmissionContext, AdmissionPlugin } from './admission.ts';
import type { EventLimit } from '@cluster-apiserver/config';
import { createEventRateLimit } from './event-rate-limit.ts';

const event = (involved = 'a', more: object = {}): Partial<AdmissionContext> => ({
  resource: { ...contextOf().resource, group: '', plural: 'events', kind: 'Event' },
  object: { metadata: { name: 'e' }, source: { component: 'c', host: 'h' }, involvedObject: { name: involved } },
  call: callUntil(0),
  ...more,
});
const limit = (type: EventLimit['type'], part: Partial<EventLimit> = {}): EventLimit => ({
  type,
  qps: 1,
  burst: 2,
  cacheSize: 4096,
  ...part,
});

const opened = (...limits: EventLimit[]): { readonly plugin: AdmissionPlugin; readonly clock: FakeClock } => {
  const clock = fakeClock();
  return { plugin: createEventRateLimit(limits, clock), clock };
};

/** The refusal of a write; undefined if it is admitted. */
function refusalOf({ validate }: AdmissionPlugin, write: Partial<AdmissionContext>): StatusError | undefined {
  try {
    void validate?.(contextOf(write));
    return undefined;
  } catch (error) {
    return error as StatusError;
  }
}

/** How many writes in a row are admitted, of ten. */
const admitted = (plugin: AdmissionPlugin, make: (at: number) => Partial<AdmissionContext>): number =>
  Array.from({ length: 10 }, (_, at) => refusalOf(plugin, make(at))).filter((refusal) => !refusal).length;

describe('a bucket', () => {
  test('admits its burst at once and then its qps', () => {
    const { plugin, clock } = opened(limit('Server', { qps: 2, burst: 3 }));
    expect(admitted(plugin, () => event())).toBe(3);
    clock.advance(499);
    expect(admitted(plugin, () => event())).toBe(0);
    clock.advance(1);
    expect(admitted(plugin, () => event())).toBe(1);
    clock.advance(1_000);
    expect(admitted(plugin, () => event())).toBe(2);
  });

  test('never holds more than its burst', () => {
    const { plugin, clock } = opened(limit('Server', { qps: 5, burst: 3 }));
    clock.advance(3_600_000);
    expect(admitted(plugin, () => event())).toBe(3);
  });

  test('refuses with 429, the reason and Retry-After', () => {
    const { plugin, clock } = opened(limit('Namespace', { qps: 1, burst: 1 }));
    expect(admitted(plugin, () => event('a', { namespace: 'team' }))).toBe(1);
    clock.advance(500);
    const refusal = refusalOf(plugin, event('a', { namespace: 'team' }));
    expect(refusal?.toStatus()).toMatchObject({
      code: 429,
      reason: 'TooManyRequests',
      message: 'Too many requests: limit reached on type Namespace for key team',
      details: { retryAfterSeconds: 1 },
    });
  });
});

describe('events share a bucket', () => {
  const other = { name: 'other', groups: [] };
  test.each<[EventLimit['type'], string, Partial<AdmissionContext>, number]>([
    ['Server', 'whatever they are', { namespace: 'other', user: other }, 0],
    ['Namespace', 'if they are in one namespace', event('b', { user: other }), 0],
    ['Namespace', 'and others if they are not', { namespace: 'other' }, 2],
    ['User', 'if one user sends them', event('b', { namespace: 'other' }), 0],
    ['User', 'and others if they do not', { user: other }, 2],
    ['SourceAndObject', 'if they come from one source about one object', { namespace: 'other', user: other }, 0],
    ['SourceAndObject', 'and others if the object is another', event('b'), 2],
    [
      'SourceAndObject',
      'and others if the source is another',
      { object: { metadata: {}, involvedObject: { name: 'a' } } },
      2,
    ],
  ])('with the type %s %s', (type, _, write, expected) => {
    const { plugin } = opened(limit(type));
    expect(admitted(plugin, () => event())).toBe(2);
    expect(admitted(plugin, () => ({ ...event(), ...write, call: callUntil(0) }))).toBe(expected);
  });
});

test('all limits must admit an event, and all that refuse it are named', () => {
  const { plugin, clock } = opened(limit('Server'), limit('User', { qps: 1, burst: 1 }), limit('Namespace'));
  expect(admitted(plugin, () => event())).toBe(1);
  expect(refusalOf(plugin, event())?.message).toBe(
    'Too many requests: [limit reached on type Server for key , limit reached on type User for key somebody, limit reached on type Namespace for key n]',
  );
  clock.advance(1_000);
  expect(admitted(plugin, () => event())).toBe(1);
});

test('the least recently used bucket is evicted and starts full again', () => {
  const { plugin } = opened(limit('Namespace', { cacheSize: 2 }));
  const inNamespace = (namespace: string) => () => event('a', { namespace });
  expect(admitted(plugin, inNamespace('one'))).toBe(2);
  expect(admitted(plugin, inNamespace('two'))).toBe(2);
  expect(admitted(plugin, inNamespace('one'))).toBe(0);
  expect(admitted(plugin, inNamespace('three'))).toBe(2);
  expect(admitted(plugin, inNamespace('one'))).toBe(0);
  expect(admitted(plugin, inNamespace('two'))).toBe(2);
});

test('a request takes one token however often it is admitted', () => {
  const { plugin } = opened(limit('Server'));
  const call = callUntil(0);
  expect(admitted(plugin, () => event('a', { call }))).toBe(10);
  expect(admitted(plugin, () => event())).toBe(1);
  const refused = callUntil(0);
  expect(admitted(plugin, () => event('a', { call: refused }))).toBe(0);
});

describe('only writes of events count', () => {
  const resource = { ...contextOf().resource, group: 'events.k8s.io', plural: 'events', kind: 'Event' };
  test.each<[string, Partial<AdmissionContext>, number]>([
    ['an update', { operation: 'UPDATE' }, 2],
    ['an event of events.k8s.io', { resource }, 2],
    ['a deletion', { operation: 'DELETE', object: undefined }, 10],
    ['a dry run', { dryRun: true }, 10],
    ['another kind', { resource: contextOf().resource }, 10],
    ['events of somebody else', { resource: { ...resource, group: 'example.com' } }, 10],
  ])('%s', (_, write, expected) => {
    const { plugin } = opened(limit('Server'));
    expect(admitted(plugin, () => ({ ...event(), ...write, call: callUntil(0) }))).toBe(expected);
  });
});
