import { requireValue, runSync, toSyncTask } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { countReachable } from '@cluster-apiserver/testkit/garbage';
import { formatPath, Problems } from '@cluster-apiserver/model';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import type { JsonSchema } from '../schema/json-schema.ts';
import { customKind } from './custom-kind.ts';
import type { DefinedVersion, Definition } from './definition.ts';

const kindOf = (
  schema: JsonSchema,
  version: Partial<DefinedVersion> = {},
  others: readonly DefinedVersion[] = [],
): Kind => {
  const names = { plural: 'lamps', singular: 'lamp', kind: 'Lamp', listKind: 'LampList' };
  const v1 = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version };
  const spec = { group: 'workshop.example', scope: 'Namespaced', names, versions: [v1, ...others] };
  return runSync(customKind({ spec, status: { acceptedNames: names } }));
};
/** A definition of its own, as if it had been decoded. */
const decodedDefinition = (group: string): Definition => {
  const names = { plural: 'lamps', singular: 'lamp', kind: 'Lamp', listKind: 'LampList' };
  const schema = { openAPIV3Schema: specOf({ color: { type: 'string', description: 'What one sees.' } }) };
  const versions = [{ name: 'v1', served: true, storage: true, schema }];
  return {
    spec: { group, scope: 'Namespaced', names, versions },
    status: { acceptedNames: names },
  };
};
const readAgain = toSyncTask(decodedDefinition);
const specOf = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties } },
});
const lamp = (spec: object, metadata: object = {}): KubeObject => ({
  kind: 'Lamp',
  apiVersion: 'workshop.example/v1',
  metadata: { name: 'desk', uid: '1', generation: 1, ...metadata },
  spec,
});
const stored = (kind: Kind, value: object): string =>
  kind.storage.form.renew(Buffer.from(JSON.stringify(value)), kind).value.toString();

test('a kind keeps no parsed schema: its documents are made of the definition as it is read again', async () => {
  const schemas: WeakRef<object>[] = [];
  const kind = ((): Kind => {
    const definition = decodedDefinition('workshop.example');
    schemas.push(new WeakRef(definition.spec.versions?.[0]?.schema?.openAPIV3Schema ?? {}));
    return runSync(customKind(definition, { readAgain: () => readAgain('workshop.example') }));
  })();
  expect(await countReachable(schemas)).toBe(0);
  const dialect = { references: '#/', describedReferences: false };
  const published = runSync(requireValue(kind.schema.publication?.document)(dialect));
  expect(published.properties?.['spec']?.properties?.['color']).toEqual({
    type: 'string',
    description: 'What one sees.',
  });
});

test('values of kube-apiserver are read: members in another order, and a line break at the end', () => {
  const kind = kindOf(specOf({ color: { type: 'string' } }));
  const { kind: name, apiVersion, metadata, ...rest } = lamp({ color: 'red' });
  const theirs = Buffer.from(`${JSON.stringify({ apiVersion, kind: name, metadata, ...rest })}\n`);
  expect(kind.storage.form.renew(theirs, kind).value.toString()).toBe(JSON.stringify(lamp({ color: 'red' })));
});

test('what was written to etcd by hand is read: without a uid and a generation, and with malformed metadata', () => {
  const embedded = { type: 'object', 'x-kubernetes-embedded-resource': true } as const;
  const kind = kindOf(specOf({ held: { ...embedded, 'x-kubernetes-preserve-unknown-fields': true } }));
  const malformed = { labels: { a: 'x y' }, annotations: { a: 1 }, finalizers: 7, unknown: 1 };
  const held = { apiVersion: 1, kind: 'Bulb', metadata: malformed };
  const of = (name: string): string =>
    stored(kind, {
      kind: 'Lamp',
      apiVersion: 'workshop.example/v1',
      metadata: { name, generation: null, ...malformed },
      spec: { held },
    });
  const read = JSON.parse(of('desk')) as KubeObject;
  expect(read).toEqual({
    ...lamp({ held: { kind: 'Bulb', metadata: { labels: { a: 'x y' } } } }, { labels: { a: 'x y' } }),
    metadata: { name: 'desk', uid: expect.any(String), generation: 1, labels: { a: 'x y' } },
  });
  // All replicas read the same, and each object has its own.
  expect(of('desk')).toBe(JSON.stringify(read));
  expect((JSON.parse(of('other')) as KubeObject).metadata.uid).not.toBe(read.metadata.uid);
  expect(read.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

test('what is stored is read by the present schema, and is the same bytes if that changes nothing', () => {
  const kind = kindOf(specOf({ color: { type: 'string' }, watts: { type: 'integer', default: 40 } }));
  expect(stored(kind, lamp({ color: 'red', size: 1 }))).toBe(JSON.stringify(lamp({ color: 'red', watts: 40 })));
  const value = Buffer.from(JSON.stringify(lamp({ color: 'red', watts: 7 })));
  expect(kind.storage.form.renew(value, kind).value).toBe(value);
});

test('names that every object inherits are plain names', () => {
  const kind = kindOf(specOf({ constructor: { type: 'string' }, toString: { type: 'integer' } }));
  const written = JSON.parse('{"constructor":"a","toString":1,"__proto__":{"polluted":1}}') as object;
  const pruned: string[] = [];
  const decoded = decode(kind.schema, lamp(written), (path) => pruned.push(String(path.at(-1))));
  expect(JSON.stringify(decoded['spec'])).toBe('{"constructor":"a","toString":1}');
  expect(pruned).toEqual(['__proto__']);
  expect(JSON.stringify(decode(kind.schema, lamp({}), () => {})['spec'])).toBe('{}');
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test('kinds with the same storage version, schema and selectable fields read alike', () => {
  const schema = specOf({ color: { type: 'string' } });
  const { shape } = kindOf(schema).storage;
  const columns = { additionalPrinterColumns: [{ name: 'Color', type: 'string', jsonPath: '.spec.color' }] };
  expect(kindOf(schema, { ...columns, subresources: { status: {} }, deprecated: true }).storage.shape).toBe(shape);
  expect(kindOf(specOf({ color: { type: 'integer' } })).storage.shape).not.toBe(shape);
  expect(kindOf(schema, { selectableFields: [{ jsonPath: '.spec.color' }] }).storage.shape).not.toBe(shape);
});

test('a deprecated version names the highest version above it that is neither deprecated nor unserved', () => {
  const schema = { openAPIV3Schema: specOf({}) };
  const other = (name: string, more: object = {}): DefinedVersion => ({
    name,
    served: true,
    storage: false,
    schema,
    ...more,
  });
  const deprecation = (...others: readonly DefinedVersion[]): string | undefined =>
    kindOf(specOf({}), { deprecated: true }, others).deprecation;
  expect(deprecation()).toBe('workshop.example/v1 Lamp is deprecated');
  expect(
    deprecation(other('v1beta1'), other('v2'), other('v3', { served: false }), other('v4', { deprecated: true })),
  ).toBe('workshop.example/v1 Lamp is deprecated; use workshop.example/v2 Lamp');
});

test('finalizers that others may use, too, draw a warning when they are added', () => {
  const { warnings } = kindOf(specOf({}));
  const finalizers = ['plain', 'with.dot', 'example.com/path', 'orphan', 'kubernetes'];
  expect(warnings?.(lamp({}, { finalizers }), lamp({}, { finalizers: ['plain'] }))).toEqual([
    'metadata.finalizers: "with.dot": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers',
  ]);
  expect(warnings?.(lamp({}, { finalizers }), undefined)).toHaveLength(2);
});

describe('kind, apiVersion and metadata', () => {
  const problemsOf = (schema: JsonSchema, value: KubeObject, current?: KubeObject): readonly string[] => {
    const kind = kindOf(schema);
    const problems = new Problems();
    const context = { user: undefined, served: kind, subresource: undefined, nowMs: 0, warn: () => {} };
    runSync(requireValue(kind.validateInSteps)(value, current, problems, context));
    return problems.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);
  };

  test('the schema of an object may restrict them', () => {
    const properties = {
      apiVersion: { type: 'string', pattern: '^workshop.example/v2$' },
      kind: { type: 'string', enum: ['Lamp', 'Light'] },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 3 } } },
    } as const;
    expect(problemsOf({ type: 'object', properties }, lamp({}))).toEqual([
      expect.stringContaining('apiVersion: Invalid value: "workshop.example/v1"'),
      expect.stringContaining('metadata.name: Too long'),
    ]);
  });

  test('an update does not keep a version that is invalid, as it does other values', () => {
    const properties = { apiVersion: { type: 'string', pattern: '^workshop.example/v2$' } } as const;
    expect(problemsOf({ type: 'object', properties }, lamp({}), lamp({}))).toEqual([
      expect.stringContaining('apiVersion: Invalid value: "workshop.example/v1"'),
    ]);
  });

  test('an embedded resource gets its defaults, and errors name its metadata as a whole', () => {
    const part: JsonSchema = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: {
        apiVersion: { type: 'string', default: 'v1' },
        kind: { type: 'string', default: 'Bulb' },
        metadata: { type: 'object', default: { name: 'a' } },
      },
    };
    const { schema } = kindOf(specOf({ part }));
    expect(decode(schema, lamp({ part: {} }), () => {})['spec']).toEqual({
      part: { apiVersion: 'v1', kind: 'Bulb', metadata: { name: 'a' } },
    });
    const name: JsonSchema = { type: 'string', default: 'b' };
    const named: JsonSchema = {
      ...part,
      properties: { ...part.properties, metadata: { type: 'object', properties: { name, unknown: name } } },
    };
    expect(() => decode(schema, lamp({ part: { metadata: { labels: { a: 1 } } } }), () => {})).toThrow(
      'spec.part.metadata: Invalid value: {"labels":{"a":1}}: labels',
    );
    const { schema: other } = kindOf(specOf({ named }));
    expect(decode(other, lamp({ named: { metadata: {} } }), () => {})['spec']).toEqual({
      named: { apiVersion: 'v1', kind: 'Bulb', metadata: { name: 'b' } },
    });
  });

  test('so may that of an embedded resource, whose names have rules of their own', () => {
    const embedded: JsonSchema = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { kind: { type: 'string', enum: ['Bulb', '%'] } },
    };
    const schema = specOf({ part: embedded });
    expect(problemsOf(schema, lamp({ part: { apiVersion: 'v1', kind: 'Bulb' } }))).toEqual([]);
    expect(problemsOf(schema, lamp({ part: { apiVersion: 'v1', kind: 'Shade' } }))).toEqual([
      expect.stringContaining('spec.part.kind: Unsupported value: "Shade"'),
    ]);
    expect(problemsOf(schema, lamp({ part: { apiVersion: 'a/b/c', kind: '%' } }))).toEqual([
      'spec.part.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
      expect.stringContaining('spec.part.kind: Invalid value: "%": may have mixed case, but should otherwise match:'),
    ]);
  });
});
