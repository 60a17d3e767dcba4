/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import { describe, expect, test } from '@jest/globals';
import { largeBytesMin, type SyncTask } from '@cluster-apiserver/base';
import type { Definition, JsonSchema } from '@cluster-apiserver/custom-resources';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { customKind, customResourceDefinition, longestPart, mapOf, model, numbers, runSync } from './growth.ts';

/**
 * Definitions and their objects are worked on in parts, between which others are served. Each case is large, and no part of it
 * may be: what a part may be at most is what a limit of definitions allows at one place.
 */

/** A part of so many steps takes ten milliseconds: 25,000 members of one object, of some steps each. */
const stepsMax = 600_000;

const named = (n: number, value: (index: number) => JsonSchema): Record<string, JsonSchema> =>
  mapOf(n, (index) => `k${index}`, value);
const object = (properties: Record<string, JsonSchema>, more: JsonSchema = {}): JsonSchema => ({
  type: 'object',
  properties,
  ...more,
});
const text: JsonSchema = { type: 'string' };
const free: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const deep = (levels: number): JsonSchema => (levels === 0 ? text : object({ a: deep(levels - 1) }));
const values = (n: number): Record<string, number> =>
  mapOf(
    n,
    (index) => `k${index}`,
    (index) => index,
  );

/** The properties of an object of the kind, and an object. */
type Case = readonly [what: string, properties: Record<string, JsonSchema>, object: object];

const cases: readonly Case[] = [
  [
    'many properties',
    named(4, () => object(named(500, () => text))),
    { k0: mapOf(500, (index) => `k${index}`, String) },
  ],
  [
    'as many properties as an object may have',
    { a: object(named(2_000, () => text)) },
    { a: mapOf(2_000, (index) => `k${index}`, String) },
  ],
  ['nested properties', named(3, () => deep(60)), {}],
  ['defaults', named(4, () => ({ ...free, default: { a: numbers(3_000) } })), {}],
  ['a default of as many members as there may be', { a: { ...free, default: values(10_000) } }, {}],
  [
    'defaults of properties',
    {
      a: object(
        named(1_000, () => ({ ...text, default: 'x' })),
        { default: {} },
      ),
    },
    {},
  ],
  ['required names', { a: object({}, { required: numbers(2_000).map((index) => `r${index}`) }) }, { a: {} }],
  [
    'members without a schema',
    { a: free },
    {
      a: mapOf(
        500,
        (index) => `k${index}`,
        () => values(40),
      ),
    },
  ],
  ['many members of one object', { a: free }, { a: values(20_000) }],
  [
    'entries with keys',
    {
      a: {
        type: 'array',
        items: object({ name: text, size: { type: 'integer' } }, { required: ['name'] }),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    },
    { a: numbers(4_000).map((index) => ({ name: `n${index}`, size: index })) },
  ],
];

const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
const bodyOf = (properties: Record<string, JsonSchema>): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.a.example.com', uid: 'u' },
  spec: {
    group: 'a.example.com',
    scope: 'Cluster',
    names,
    conversion: { strategy: 'None' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: object(properties) } }],
  },
  status: { acceptedNames: names, storedVersions: ['v1'] },
});

const decoded = (kind: Kind, value: object): KubeObject => runSync(model.decodeInSteps(kind.schema, value, () => {}));

function validate(kind: Kind, written: KubeObject, current?: KubeObject): SyncTask<void> {
  const context = { user: undefined, subresource: undefined, nowMs: 0, warn: () => {}, served: kind };
  return kind.validateInSteps?.(written, current, new model.Problems(), context) as SyncTask<void>;
}

describe.each(cases)('%s', (_, properties, content) => {
  const body = bodyOf(properties);
  const kindOf = (): Kind => runSync(customKind(body as unknown as Definition));
  const objectOf = (more: object): object => ({
    apiVersion: 'a.example.com/v1',
    kind: 'Thing',
    metadata: { name: 'a' },
    ...more,
  });

  test.each<[string, () => Generator<unknown, unknown>]>([
    ['a definition is decoded', () => model.decodeInSteps(customResourceDefinition.schema, body, () => {})],
    ['a definition is validated', () => validate(customResourceDefinition, decoded(customResourceDefinition, body))],
    ['a kind is made', () => customKind(body as unknown as Definition)],
    ['an object is decoded', () => model.decodeInSteps(kindOf().schema, objectOf(content), () => {})],
    [
      'a stored object is read',
      () => {
        const kind = kindOf();
        const { form } = kind.storage;
        const padded = { ...objectOf(content), padding: 'x'.repeat(largeBytesMin) };
        const reading = form.renewInSteps?.(Buffer.from(JSON.stringify(padded)), kind);
        if (!reading) throw new Error('values of the kind are not read in steps');
        reading.next(); // the scan of the text: a short step for each character
        return reading;
      },
    ],
    ['a configuration is read', () => model.readAppliedInSteps(kindOf().schema, objectOf(content), () => {})],
    [
      'a configuration is applied',
      () => {
        const { schema: whole } = kindOf();
        const empty = runSync(model.decodeInSteps(whole, objectOf({}), () => {}));
        const applied = (more: object) => model.readApplied(whole, objectOf(more), () => {});
        const applier = { manager: 'm', apiVersion: 'a.example.com/v1', time: '2026-01-01T00:00:00Z', force: true };
        const live = runSync(model.applyAsKubectlDid(whole, empty, empty, applied(content), applier));
        const stored = { ...live, metadata: { ...live.metadata, uid: 'u' } };
        return model.applyAsKubectlDid(whole, stored, empty, applied({}), applier);
      },
    ],
    ['an object is validated', () => validate(kindOf(), decoded(kindOf(), objectOf(content)))],
    [
      'an object is validated over another one',
      () => {
        const kind = kindOf();
        return validate(kind, decoded(kind, objectOf({ ...content, more: 1 })), decoded(kind, objectOf(content)));
      },
    ],
  ])('%s in short parts', (__, prepare) => {
    expect(longestPart(prepare, stepsMax)).toBeLessThan(stepsMax);
  });
});
