/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import type { JsonSchema } from '@cluster-apiserver/custom-resources';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { type Case, customKind, mapOf, model, numbers, runSync, testGrowth } from './growth.ts';

const names = { plural: 'things', kind: 'Thing' };
const compile = (spec: JsonSchema): Kind =>
  runSync(
    customKind({
      spec: {
        group: 'a.example.com',
        scope: 'Namespaced',
        names,
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          },
        ],
      },
      status: { acceptedNames: names },
    }),
  );

const text: JsonSchema = { type: 'string' };
const withRules = (schema: JsonSchema, ...rules: readonly string[]): JsonSchema => ({
  ...schema,
  'x-kubernetes-validations': rules.map((rule) => ({ rule })),
});
const list = (items: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'array', items, ...more });
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
const entry: JsonSchema = { type: 'object', properties: { k: text, v: withRules(text, 'self == oldSelf') } };

/** Objects of one kind are written, one over another. */
function write(spec: JsonSchema): (value: unknown, current?: unknown) => () => unknown {
  const kind = compile(spec);
  const objectOf = (value: unknown): KubeObject => {
    const object = { apiVersion: 'a.example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: value };
    return model.decode(kind.schema, object, () => {});
  };
  const context = { user: undefined, subresource: undefined, nowMs: 0, warn: () => {}, served: kind };
  return (value, current) => {
    const [next, before] = [objectOf(value), current === undefined ? undefined : objectOf(current)];
    return () => {
      const problems = new model.Problems();
      const task = kind.validateInSteps?.(next, before, problems, context);
      if (task) runSync(task);
      return problems;
    };
  };
}

const rules = (n: number): readonly string[] => numbers(n).map((i) => `self != "${i}"`);
const definitions: readonly Case[] = [
  ['rules of one field', (n) => () => compile(withRules(text, ...rules(n)))],
  [
    'fields with rules',
    (n) => () => compile({ type: 'object', properties: mapOf(n, String, () => withRules(text, 'self != ""')) }),
  ],
  [
    'fields below a rule',
    (n) => () =>
      compile(
        withRules(
          {
            type: 'object',
            properties: mapOf(
              n,
              (i) => `f${i}`,
              () => text,
            ),
          },
          'self == self',
        ),
      ),
  ],
  [
    'a long rule',
    (n) => () =>
      compile(
        withRules(
          text,
          numbers(n)
            .map(() => 'self != ""')
            .join(' || '),
        ),
      ),
  ],
];

const each = write(list(withRules(text, 'self != "a"')));
const entries = write(list(entry, keyed));
const sets = write(withRules(list(text, { 'x-kubernetes-list-type': 'set' }), 'self == oldSelf', 'self.size() > 0'));
const maps = write({
  ...withRules({ type: 'object' }, 'self == oldSelf', 'self.all(k, self[k] != "b")'),
  additionalProperties: withRules(text, 'self == oldSelf'),
});
const breaking = write(withRules(list(entry, keyed), 'false', 'self == self'));
const keys = (n: number): readonly object[] => numbers(n).map((i) => ({ k: `k${i}`, v: 'a' }));
const objects: readonly Case[] = [
  ['values with a rule', (n) => each(numbers(n).map(() => 'a'))],
  ['entries that are matched by keys', (n) => entries(keys(n), keys(n).toReversed())],
  ['sets that are compared', (n) => sets(numbers(n).map(String), numbers(n).map(String).toReversed())],
  [
    'maps that are compared',
    (n) =>
      maps(
        mapOf(n, String, () => 'a'),
        mapOf(n, String, () => 'a'),
      ),
  ],
  ['a broken rule on unchanged entries', (n) => breaking(keys(n), keys(n).toReversed())],
];

testGrowth({ definitions, objects });
