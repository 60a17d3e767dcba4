/** Definitions and sample objects that projects publish, from the Go modules that packages/toolchain/go-modules.mjs fetches. */
import fs from 'node:fs';
import path from 'node:path';
import { loadYaml } from '@kubernetes/client-node';

export interface Publication {
  readonly module: string;
  /** A folder of the module. */
  readonly definitions: string;
  /** Files, and folders with all that is below them; and how many objects of its kinds these contain. */
  readonly samples: { readonly in: readonly string[]; readonly count: number };
  /** Samples that its own definitions do not allow, by a part of `FILE NAME`, with the reason. */
  readonly invalid?: Readonly<Record<string, string>>;
  /** A field as `kubectl explain` takes it, and what it is. */
  readonly explained: { readonly field: string; readonly type: string };
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
}

export interface Definition {
  readonly spec: {
    readonly group: string;
    readonly scope: 'Cluster' | 'Namespaced';
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
}

export interface Sample {
  readonly file: string;
  readonly manifest: Manifest;
  readonly isNamespaced: boolean;
}

const folders = JSON.parse(process.env['GO_MODULES'] ?? '{}') as Readonly<Record<string, string>>;
export const missing = process.env['GO_MODULES_MISSING'];

function pathIn(module: string, file: string): string {
  const folder = folders[module];
  if (!folder) throw new Error(`packages/toolchain/go-modules.mjs does not know ${module}`);
  return path.join(folder, file);
}

/** The definitions with their files, and other files beside them, such as policies. */
export function readDefinitions({ module, definitions }: Pick<Publication, 'module' | 'definitions'>): {
  readonly files: readonly string[];
  readonly others: readonly string[];
  readonly found: readonly Definition[];
} {
  const files: string[] = [];
  const others: string[] = [];
  const found: Definition[] = [];
  for (const file of filesBelow(pathIn(module, definitions))) {
    if (file.endsWith('kustomization.yaml')) continue;
    const inFile = manifestsIn(file).filter(isDefinition);
    (inFile.length > 0 ? files : others).push(file);
    found.push(...inFile);
  }
  return { files, others, found };
}

const isDefinition = (manifest: Manifest): manifest is Manifest & Definition =>
  manifest.kind === 'CustomResourceDefinition';

/** The samples of versions that these definitions serve. */
export function readSamples(
  { module, samples, invalid = {} }: Publication,
  found: readonly Definition[],
): readonly Sample[] {
  const files = samples.in.flatMap((sample) => filesBelow(pathIn(module, sample)));
  return files.flatMap((file) =>
    manifestsIn(file).flatMap((manifest) => {
      const name = `${file} ${manifest.metadata?.name}`;
      if (Object.keys(invalid).some((part) => name.includes(part))) return [];
      const definition = found.find((one) => serves(one, manifest));
      return definition ? [{ file, manifest, isNamespaced: definition.spec.scope === 'Namespaced' }] : [];
    }),
  );
}

const serves = ({ spec: { group, names, versions } }: Definition, { apiVersion, kind }: Manifest): boolean =>
  names.kind === kind && versions.some(({ name, served }) => served && apiVersion === `${group}/${name}`);

function filesBelow(start: string): readonly string[] {
  if (fs.statSync(start).isFile()) return [start];
  return fs
    .readdirSync(start, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ya?ml|md|proto)$/.test(name) && !name.endsWith('README.md'))
    .toSorted()
    .map((name) => path.join(start, name));
}

/** The documents of a file of YAML, or of the examples in a documentation or a comment. */
function manifestsIn(file: string): readonly Manifest[] {
  const content = fs.readFileSync(file, 'utf8');
  const texts = /\.ya?ml$/.test(file) ? [content] : examplesIn(content);
  return texts
    .flatMap((one) => one.split(/^---.*$/m))
    .filter((one) => /^apiVersion:/m.test(one) && /^kind:/m.test(one))
    .flatMap((one) => parsed(one) ?? []);
}

/** Undefined for a template, an excerpt, and what only Go's parser takes. */
function parsed(text: string): Manifest | undefined {
  try {
    return loadYaml<Manifest>(text);
  } catch {
    return undefined; // the number of samples is known
  }
}

const examplesIn = (content: string): readonly string[] =>
  [...content.replaceAll(/^ *\/\/ ?/gm, '').matchAll(/^```yaml\n(.*?)^```/gms)].map(([, example = '']) => example);
