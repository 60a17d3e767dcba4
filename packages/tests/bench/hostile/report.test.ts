import { expect, test } from '@jest/globals';
import { attacks } from './attacks.ts';
import { type AttackReport, missedGoals, tableHead, tableRow } from './report.ts';

const idle = { main: 0, otherThreads: 0, waiting: 0 };
const good: AttackReport = {
  name: 'some-attack',
  reason: 'a test',
  polite: { answered: 1_600, errors: {}, p50Ms: 2, p99Ms: 20, maxMs: 60, ownDelayMs: 3 },
  before: { residentMiB: 200, descriptors: 25 },
  peakMiB: 260,
  after: { residentMiB: 210, descriptors: 25 },
  turnMs: 15,
  turnProcessorMs: 9,
  slowGets: { over50Ms: 3, over100Ms: 0 },
  use: { server: idle, store: idle, attacker: idle },
  control: undefined,
  attacker: { '200': 5, closed: 1 },
  logged: [],
};
const polite = (more: Partial<AttackReport['polite']>): Partial<AttackReport> => ({
  polite: { ...good.polite, ...more },
});

test('a server that keeps serving meets all goals', () => {
  expect(missedGoals(good)).toEqual([]);
  expect(tableRow(good)).toContain('| OK |');
});

const missed: readonly (readonly [string, Partial<AttackReport>])[] = [
  ['process ended', { after: undefined }],
  ['attacker failed', { attacker: undefined }],
  ['polite errors: 2 x 429, 1 x no answer', polite({ errors: { '429': 2, 'no answer': 1 } })],
  ['nothing answered', polite({ answered: 0 })],
  ['max 101 ms', polite({ maxMs: 101 })],
  ['p99 51 ms', polite({ p99Ms: 51 })],
  ['an iteration of 21 ms', { turnProcessorMs: 21 }],
  ['+101 MiB', { peakMiB: 301 }],
  ['+51 MiB kept', { after: { residentMiB: 251, descriptors: 25 } }],
  ['75 descriptors kept', { after: { residentMiB: 200, descriptors: 100 } }],
  ['1 errors logged', { logged: ['ERROR'] }],
];
test.each(missed)('%s misses a goal', (text, change) => {
  expect(missedGoals({ ...good, ...change })).toEqual([text]);
});

test('a table row has one cell per column', () => {
  const columns = (row: string | undefined): number => row?.split('|').length ?? 0;
  expect(columns(tableRow(good))).toBe(columns(tableHead.split('\n')[0]));
});

test('every attack has a unique name and a reason', () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
  expect(attacks.filter(({ name, reason }) => !/^[a-z][a-z0-9-]+$/.test(name) || reason === '')).toEqual([]);
});
