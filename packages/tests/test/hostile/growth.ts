import { afterAll, describe, expect, test } from '@jest/globals';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { StepCounter } from './step-count.ts';

/**
 * All processing of client input takes time proportional to its size. Each case runs on its worst input and on one
 * eight times as large, and counts steps, because time depends on the load of the machine.
 */

// Opened before the code is loaded: V8 does not count blocks of code that it compiled earlier. So the tests take the code
// from here, and import none themselves.
const counter = new StepCounter(/\/packages\/(?!tests\/test\/hostile\/step-count)|\/js-yaml\/|\/protobufjs\//);
export const model = {
  ...(await import('@cluster-apiserver/model')),
  ...(await import('@cluster-apiserver/model/codec')),
  ...(await import('@cluster-apiserver/model/json')),
  ...(await import('@cluster-apiserver/model/managed-fields')),
  ...(await import('@cluster-apiserver/model/patch')),
  ...(await import('@cluster-apiserver/model/schema')),
  ...(await import('@cluster-apiserver/model/selector')),
  ...(await import('@cluster-apiserver/model/validation')),
};
export const cel = await import('@cluster-apiserver/expressions');
export const { runSync } = await import('@cluster-apiserver/base');
export const { customKind } = await import('@cluster-apiserver/custom-resources');
const { kinds } = await import('@cluster-apiserver/kinds');

afterAll(() => counter.close());

const smallest = 400;
const factor = 8;
/** Eight times the steps, with room for the logarithm of sorting; quadratic growth takes 64 times. */
export const growthMax = 12;

const leastSteps = 10;
/** Of each input; the largest result counts. */
const countings = 2;

/** Inputs are created outside of the measurement. */
export type Case = readonly [what: string, prepare: (n: number) => () => unknown];

export function growth(prepare: Case[1], from = smallest): number {
  const work = [from, factor * from].map(prepare) as [() => unknown, () => unknown];
  // Warm-up of caches, and of the counter; of another size, because some parsers keep their latest result.
  const other = prepare(from / 2);
  counter.steps(() => runIgnoringErrors(other));
  const [small, large] = work.map(countSteps) as [number, number];
  // Fewer steps mean that the code under test was not counted.
  expect(small).toBeGreaterThan(leastSteps);
  return large / small;
}

/** V8 may lose counts when it collects or compiles a function meanwhile, and never counts too much. */
const countSteps = (work: () => unknown): number =>
  Math.max(...Array.from({ length: countings }, () => counter.steps(() => runIgnoringErrors(work))));

/** An input that is rejected has been read just as far. */
function runIgnoringErrors(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
}

/** Groups of successive parts that are counted together: each count takes some milliseconds. */
const groupsMax = 30;

/** Fewer steps than `stepsMax`, or the most that a task takes between two pauses. */
export function longestPart(prepare: () => Generator<unknown, unknown>, stepsMax: number): number {
  let parts = 1;
  for (const task = prepare(); !task.next().done; ) parts++;
  const size = Math.ceil(parts / groupsMax);
  const groups = countParts(prepare(), parts, size).map((steps, index) => ({ steps, from: index * size }));
  let most = 0;
  // No part takes longer than its group.
  for (const { steps, from } of groups.toSorted((one, other) => other.steps - one.steps)) {
    if (most >= steps || steps < stepsMax || size === 1) return Math.max(most, steps);
    const task = prepare();
    for (let part = 0; part < from; part++) task.next();
    most = Math.max(most, ...countParts(task, Math.min(size, parts - from), 1));
  }
  return most;
}

/** The steps of each group of so many parts. */
const countParts = (task: Generator<unknown, unknown>, parts: number, size: number): readonly number[] =>
  Array.from({ length: Math.ceil(parts / size) }, () =>
    counter.steps(() => {
      for (let part = 0; part < size; part++) task.next();
    }),
  );

const declared = kinds({ eventLifetimeSeconds: 3600, serviceAccountTokens: undefined });
const kindNamed = (name: string): Kind => declared.find(({ kind }) => kind === name) as Kind;
export const serviceAccount = kindNamed('ServiceAccount');
export const customResourceDefinition = kindNamed('CustomResourceDefinition');
export const { schema } = serviceAccount;

export const numbers = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
export const list = (n: number, item: (i: number) => string): string => numbers(n).map(item).join(',');
export const mapOf = <T>(n: number, key: (i: number) => string, value: (i: number) => T): Record<string, T> =>
  Object.fromEntries(numbers(n).map((i) => [key(i), value(i)]));

export const account = (metadata: object, more: object = {}): KubeObject => ({
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'b', uid: 'u', ...metadata },
  ...more,
});
export const secrets = (n: number, from = 0): object[] => numbers(n).map((i) => ({ name: `s${from + i}` }));
export const ownedEntries = (n: number, perEntry = 1): object[] =>
  numbers(n).map((i) => ({
    manager: `m${i}`,
    operation: i % 2 ? 'Apply' : 'Update',
    apiVersion: 'v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:secrets': mapOf(
        perEntry,
        (k) => `k:{"name":"s${i + k}"}`,
        () => ({ '.': {} }),
      ),
    },
  }));
export function nested(n: number): object[] {
  return [{ ...ownedEntries(1)[0], fieldsV1: JSON.parse(`${'{"f:a":'.repeat(n)}{}${'}'.repeat(n)}`) as object }];
}

/** Each case takes time proportional to its input. */
export function testGrowth(groups: Readonly<Record<string, readonly Case[]>>): void {
  describe.each(Object.keys(groups))('%s', (group) => {
    test.each(groups[group] as Case[])('%s: takes time proportional to the input', (_, prepare) => {
      expect(growth(prepare)).toBeLessThan(growthMax);
    });
  });
}
