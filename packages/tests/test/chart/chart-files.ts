/** The chart of the checkout. */
import fs from 'node:fs';
import path from 'node:path';
import { parseYaml } from '@cluster-apiserver/model/codec';
import { isRawNumber } from '@cluster-apiserver/model/json';

export const root = path.resolve(import.meta.dirname, '..', '..', '..', '..');
export const chart = path.join(root, 'helm', 'cluster-apiserver');

export const read = (...names: readonly string[]): string => fs.readFileSync(path.join(chart, ...names), 'utf8');

export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

/** Far more than any YAML file here. */
const yamlBytesMax = 4 * 1024 * 1024;

/** Parses YAML as Helm and Kubernetes do. */
export function readYaml(text: string): Value {
  const { value, faults } = parseYaml(text, yamlBytesMax);
  if (faults.length > 0) throw new Error(JSON.stringify(faults));
  return plain(value);
}

function plain(value: unknown): Value {
  if (isRawNumber(value)) return Number(value.rawJSON);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value as Value; // a scalar
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one)]));
}

export const values = readYaml(read('values.yaml')) as Readonly<Record<string, Value>>; // a test validates it with the schema

export const isMap = (value: Value | undefined): value is { readonly [name: string]: Value } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The default of a value by path, such as `etcd.prefix`. */
export const valueAt = (place: string): Value | undefined =>
  place.split('.').reduce<Value | undefined>((value, name) => (isMap(value) ? value[name] : undefined), values);

/** The value sets of the chart tests. */
export const valueSets = fs
  .readdirSync(path.join(chart, 'ci'))
  .filter((name) => name.endsWith('-values.yaml'))
  .toSorted();

/** Flags that the chart sets itself, as literals in one template. */
export const ownFlags: readonly string[] = [
  ...new Set(
    Array.from(
      (
        /define "cluster-apiserver.ownFlags"[^]*?\{\{- end -\}\}\n\n/.exec(read('templates', '_flags.tpl'))?.[0] ?? ''
      ).matchAll(/(?:set \$flags |^ {2})"([a-z0-9-]+)" /gm),
      ([, name = '']) => name,
    ),
  ),
].toSorted();

/** Rules and dashboards; `npm run chart -- write` copies them from deploy/monitoring into the chart. */
export function monitoringFiles(folder: string): ReadonlyMap<string, string> {
  const files = ['prometheus', 'grafana'].flatMap((name) => {
    const below = path.join(folder, name);
    if (!fs.existsSync(below)) return [];
    return fs
      .readdirSync(below)
      .filter((file) => /\.(yaml|json)$/.test(file))
      .toSorted()
      .map((file) => path.join(name, file));
  });
  return new Map(files.map((file) => [file, fs.readFileSync(path.join(folder, file), 'utf8')]));
}

export const monitoringSource = path.join(root, 'deploy', 'monitoring');
export const monitoringCopy = path.join(chart, 'monitoring');
