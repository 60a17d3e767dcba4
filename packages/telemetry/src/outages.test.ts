import { beforeEach, expect, test } from '@jest/globals';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createLog, createOutages, type Outages } from './index.ts';

let clock: FakeClock;
let lines: string[];
let outages: Outages;

const open = (steadyMs?: number): Outages => {
  const log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) });
  return createOutages(log.withName('hooks'), clock, {
    severity: 'warning',
    began: 'webhook failed',
    remedy: 'start it',
    ended: 'webhook answers again',
    ...(steadyMs !== undefined && { steadyMs }),
  });
};
const taken = (): string[] => lines.splice(0).map((line) => `${line[0]}${line.slice(line.indexOf(']') + 1).trim()}`);
const fail = (webhook: string): void => outages.failed({ webhook }, { error: new Error('refused') });

beforeEach(() => {
  clock = fakeClock();
  lines = [];
  outages = open();
});

test('an outage is one line when it begins, one a minute while it lasts, and one when it ends', () => {
  for (let seconds = 0; seconds < 130; seconds++) {
    fail('a');
    clock.advance(1_000);
  }
  outages.succeeded({ webhook: 'a' });
  outages.succeeded({ webhook: 'a' });
  expect(taken()).toEqual([
    'W"webhook failed" webhook="a" err="refused" remedy="start it"',
    'W"webhook failed" webhook="a" lasted="1m0s" failures=60 err="refused" remedy="start it"',
    'W"webhook failed" webhook="a" lasted="2m0s" failures=60 err="refused" remedy="start it"',
    'I"webhook answers again" webhook="a" lasted="2m10s"',
  ]);
  fail('a');
  expect(taken()).toHaveLength(1);
});

test('each thing has outages of its own', () => {
  fail('a');
  fail('b');
  outages.succeeded({ webhook: 'b' });
  fail('a');
  expect(taken().map((line) => line.slice(0, 40))).toEqual([
    'W"webhook failed" webhook="a" err="refus',
    'W"webhook failed" webhook="b" err="refus',
    'I"webhook answers again" webhook="b" las',
  ]);
});

test('an outage that comes and goes is one outage', () => {
  outages = open(10_000);
  for (let seconds = 0; seconds < 60; seconds++) {
    fail('a');
    outages.succeeded({ webhook: 'a' });
    clock.advance(1_000);
  }
  expect(taken()).toHaveLength(1);
  clock.advance(10_000);
  outages.succeeded({ webhook: 'a' });
  expect(taken()).toEqual(['I"webhook answers again" webhook="a" lasted="1m10s"']);
});

test('without further failures nothing is repeated', () => {
  fail('a');
  clock.advance(600_000);
  expect(taken()).toHaveLength(1);
  expect(clock.waiting).toBe(0);
});
