/** The real Helm, and kubeconform with the Kubernetes schemas, built by `npm run chart`. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chart, isMap, readYaml, type Value } from './chart-files.ts';
import type { KubeApiserver } from '@cluster-apiserver/testkit/kube-apiserver';
import { describeIf } from '../describe-if.ts';

const helmProgram = process.env.HELM_MISSING === undefined ? process.env.HELM_BIN : undefined;
const kubeconformProgram = process.env.KUBECONFORM_BIN;
/** JSON schemas by API group; `definitions` contains the CustomResourceDefinitions. */
const schemas = process.env.KUBERNETES_SCHEMAS;

const reason = process.env.HELM_MISSING ?? 'no HELM_BIN names a helm';

export const hasHelm = helmProgram !== undefined;

/** A group of tests that is skipped without Helm. `npm test` prints the number of skipped tests. */
export function describeWithHelm(name: string, tests: () => void): void {
  describeIf(hasHelm, name, reason, tests);
}

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Isolates Helm from the user's configuration and cache. */
const home = path.join(os.tmpdir(), 'chart-tests-helm');

/** With Helm on the PATH. */
export const helmEnvironment = (): NodeJS.ProcessEnv => ({
  PATH: `${path.dirname(helmProgram ?? '')}:${process.env.PATH}`,
  HOME: home,
  HELM_CACHE_HOME: home,
  HELM_CONFIG_HOME: home,
  HELM_DATA_HOME: home,
});

function runCommand(program: string | undefined, args: readonly string[], input = ''): CommandResult {
  if (program === undefined) throw new Error(reason);
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    input,
    env: helmEnvironment(),
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error) throw error;
  return { code: status, out: stdout, error: stderr };
}

/** The definitions of operators whose objects the chart has. */
export async function installDefinitions({ request }: Pick<KubeApiserver, 'request'>): Promise<void> {
  const definitions = path.join(schemas ?? '', 'definitions');
  for (const name of fs.readdirSync(definitions)) {
    const definition = JSON.parse(fs.readFileSync(path.join(definitions, name), 'utf8')) as object;
    const { status, body } = await request(
      'POST',
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      definition,
    );
    if (status !== 201) throw new Error(`${name}: ${body}`);
  }
}

export const helm = (...args: readonly string[]): CommandResult => runCommand(helmProgram, args);

/** Release name of all renderings. */
export const release = 'api';
const namespace = 'platform';

/** A rendered object. */
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

/** Runs `helm template` with value sets of `ci/`, overridden by `changes`. */
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
  if (!found) throw new Error(`${kind} ${name} is not rendered`);
  return found;
}

/** Schema errors of manifests; unknown fields are errors. */
export function validate(manifests: string): readonly string[] {
  const location = `${schemas}/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json`;
  const { out, error } = runCommand(
    kubeconformProgram,
    ['-schema-location', location, '-output', 'json', '-verbose'],
    manifests,
  );
  if (error !== '') throw new Error(error);
  const { resources } = JSON.parse(out) as { resources: readonly Validated[] };
  if (resources.length === 0) throw new Error('kubeconform received no manifests');
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
