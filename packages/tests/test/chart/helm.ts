/** The real Helm, and kubeconform with the schemas of Kubernetes, as `npm run chart` has built them. */
import { describe } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chart, isMap, readYaml, type Value } from './chart-files.ts';

const helmProgram = process.env.HELM_MISSING === undefined ? process.env.HELM_BIN : undefined;
const kubeconformProgram = process.env.KUBECONFORM_BIN;
const schemas = process.env.KUBERNETES_SCHEMAS;

const group = helmProgram ? describe : describe.skip;
const reason = process.env.HELM_MISSING ?? 'no HELM_BIN names a helm';

/** A group of tests that needs Helm and is skipped where there is none. The end of `npm test` tells how many were. */
export function describeWithHelm(name: string, tests: () => void): void {
  group(helmProgram ? name : `skipped: ${reason}; ${name}`, tests);
}

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Helm keeps nothing of the machine's, and changes nothing there. */
const home = path.join(os.tmpdir(), 'chart-tests-helm');

function runCommand(program: string | undefined, args: readonly string[], input = ''): CommandResult {
  if (program === undefined) throw new Error(reason);
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    input,
    env: { PATH: process.env.PATH, HOME: home, HELM_CACHE_HOME: home, HELM_CONFIG_HOME: home, HELM_DATA_HOME: home },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw error;
  return { code: status, out: stdout, error: stderr };
}

export const helm = (...args: readonly string[]): CommandResult => runCommand(helmProgram, args);

/** The release of all renderings. */
export const release = 'api';
const namespace = 'platform';

/** An object of the cluster that the chart is installed in. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** `helm template` with value sets of `ci/`, and values that win over them. */
export function template(sets: readonly string[], changes: Value = {}): CommandResult {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'chart-'));
  try {
    const changed = path.join(scratch, 'changes.json');
    fs.writeFileSync(changed, JSON.stringify(changes));
    const files = [...sets.map((set) => path.join(chart, 'ci', set)), changed];
    return helm('template', release, chart, '--namespace', namespace, ...files.flatMap((file) => ['--values', file]));
  } finally {
    fs.rmSync(scratch, { recursive: true });
  }
}

export function render(sets: readonly string[], changes: Value = {}): readonly Manifest[] {
  const { code, out, error } = template(sets, changes);
  if (code !== 0) throw new Error(error);
  return manifestsIn(out);
}

export const manifestsIn = (text: string): readonly Manifest[] =>
  text
    .split(/^---$/m)
    .map(readYaml)
    .filter((value) => isMap(value))
    .map((value) => value as unknown as Manifest); // kubeconform checks each

export function find(manifests: readonly Manifest[], kind: string, name: string = release): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name);
  if (!found) throw new Error(`no ${kind} ${name} is rendered`);
  return found;
}

/** Faults of manifests by the schemas of their kinds, in which unknown fields are faults, too. */
export function validate(manifests: string): readonly string[] {
  const location = `${schemas}/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json`;
  const { out, error } = runCommand(
    kubeconformProgram,
    ['-schema-location', location, '-output', 'json', '-verbose'],
    manifests,
  );
  if (error !== '') throw new Error(error);
  const { resources } = JSON.parse(out) as { resources: readonly Validated[] };
  if (resources.length === 0) throw new Error('kubeconform was given nothing');
  return resources
    .filter(({ status }) => status !== 'statusValid')
    .map(({ kind, name, status, msg }) => `${kind} ${name}: ${status} ${msg}`);
}

interface Validated {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly msg: string;
}
