import { describe, expect, test } from '@jest/globals';
import { parseFlags } from '@cluster-apiserver/server';
import {
  isMap,
  monitoringCopy,
  monitoringFiles,
  monitoringSource,
  ownFlags,
  read,
  type Value,
  valueAt,
  values,
} from './chart-files.ts';
import { declaredFlags } from './declared-flags.ts';
import { readmeText, schemaText, undocumentedValues } from './generated.ts';

const declared = new Set(declaredFlags.map(({ name }) => name));

test('the help lists all flags of the server', () => {
  expect([...declared].toSorted()).toEqual(Object.keys(parseFlags([])).toSorted());
});

test('the server has every flag that the chart sets', () => {
  expect(ownFlags.length).toBeGreaterThan(20);
  expect(ownFlags.filter((name) => !declared.has(name))).toEqual([]);
});

/** Values that the chart always passes to a flag. */
const sameDefaults: readonly (readonly [place: string, flag: string, written?: (value: Value) => string])[] = [
  ['bindAddress', 'bind-address'],
  ['containerPort', 'secure-port'],
  ['etcd.prefix', 'etcd-prefix'],
  ['requestTimeoutSeconds', 'request-timeout', (seconds) => `${String(seconds)}s`],
  ['serviceAccountTokens.maxExpiration', 'service-account-max-token-expiration'],
  ['authentication.webhook.cacheTTL', 'authentication-token-webhook-cache-ttl'],
];

describe('values with the default of a flag', () => {
  test.each(sameDefaults)('%s equals the default of --%s', (place, flag, written = String) => {
    const value = valueAt(place);
    if (value === undefined) throw new Error(`values.yaml has no ${place}`);
    const given = parseFlags([`--${flag}=${written(value)}`]);
    expect(Object.entries(given).find(([name]) => name === flag)).toEqual(
      Object.entries(parseFlags([])).find(([name]) => name === flag),
    );
  });

  test("the defaults of `flags` are valid and differ from the server's defaults", () => {
    const flags = valueAt('flags');
    const changed = isMap(flags) ? Object.entries(flags) : [];
    const unset = Object.entries(parseFlags([]));
    for (const [name, value] of changed)
      expect(unset).not.toContainEqual(
        Object.entries(parseFlags([`--${name}=${String(value)}`])).find(([one]) => one === name),
      );
  });
});

// npm run chart -- write
test('the values schema lists every flag that has no separate value', () => {
  expect(read('values.schema.json')).toBe(schemaText());
});

test("the chart's rules and dashboards equal those of deploy/monitoring", () => {
  expect(monitoringFiles(monitoringCopy)).toEqual(monitoringFiles(monitoringSource));
});

test('the schema describes exactly the existing values', () => {
  const schema = JSON.parse(read('values.schema.json')) as Schema;
  const faults: string[] = [];
  compare(values, schema, '', faults);
  expect(faults).toEqual([]);
});

test('every value has a comment, and the README lists all values', () => {
  expect(undocumentedValues()).toEqual([]);
  expect(read('README.md')).toBe(readmeText());
});

interface Schema {
  readonly additionalProperties?: boolean;
  readonly properties?: Readonly<Record<string, Schema>>;
}

function compare(value: Value, { properties, additionalProperties }: Schema, place: string, faults: string[]): void {
  if (!properties || additionalProperties !== false || !isMap(value)) return;
  for (const name of Object.keys(value)) {
    const schema = properties[name];
    if (!schema) faults.push(`${place}${name} has no schema`);
    else compare(value[name] ?? null, schema, `${place}${name}.`, faults);
  }
  if (place === 'flags.') return;
  for (const name of Object.keys(properties))
    if (!(name in value) && name !== 'global') faults.push(`${place}${name} is not in values.yaml`);
}
