import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Clock, follow, type Scope } from '@cluster-apiserver/base';
import {
  type AdmissionConfiguration,
  ConfigurationError,
  type Manifest,
  readManifests,
} from '@cluster-apiserver/config';
import type { AdmissionPluginName } from '@cluster-apiserver/gates';
import { decode, type KubeObject, StatusError, WrongTypeError } from '@cluster-apiserver/model';
import { type StaticProblems, type StaticSource, staticSuffix } from '@cluster-apiserver/policies';
import { buildNew, type Resource } from '@cluster-apiserver/registry';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { Files } from '../surroundings.ts';
import type { ConfiguredAdmission } from './admission.ts';
import type { ReloadMeasures } from './reload-measures.ts';

interface StaticManifestsOptions<Objects> {
  readonly directory: string;
  /** What the objects may be of. */
  readonly resources: readonly Resource[];
  /** The objects as they come into force. */
  readonly build: (objects: StaticManifests) => Objects;
  readonly files: Files;
  readonly measures: ReloadMeasures;
  readonly clock: Clock;
  readonly log: Log;
}

/** The objects of a directory, as if they had just been created. */
export interface StaticManifests {
  /** In the order of their names. */
  of(resource: Resource): readonly KubeObject[];
  /** Throws a ConfigurationError with everything that is wrong with the objects. */
  requireNoProblems(problems: StaticProblems): void;
}

/** Those of the directory that a plugin is configured with; undefined for none. */
export async function openStaticManifests<Objects>(
  plugin: AdmissionPluginName & keyof AdmissionConfiguration,
  resources: readonly Resource[],
  build: (objects: StaticManifests) => Objects,
  { configuration, manifestMeasures, scope, ...dependencies }: ConfiguredAdmission,
): Promise<StaticSource<Objects> | undefined> {
  const configured = configuration[plugin];
  if (!configured || !('staticManifestsDir' in configured)) return undefined;
  const { staticManifestsDir: directory } = configured;
  if (directory === undefined) return undefined;
  const measures = manifestMeasures({ plugin });
  return followStaticManifests({ ...dependencies, directory, resources, build, measures }, scope);
}

/** Some small files. Whoever changes one waits for it to be read, and not for much longer than that. */
const pollMs = 1_000;

const extensions = ['.yaml', '.yml', '.json'];

/**
 * The objects of the files of a directory, now and after each change of it. The first ones must be without fault, or a
 * ConfigurationError is thrown; later ones are in force as a whole, or refused and reported.
 */
async function followStaticManifests<Objects>(
  options: StaticManifestsOptions<Objects>,
  scope: Scope,
): Promise<StaticSource<Objects>> {
  const { directory, build, files, measures, clock, log } = options;
  const first = await readFiles(directory, files);
  let current = build(await load(first, options));
  const listeners: (() => void)[] = [];
  const applied = (content: readonly ManifestFile[]): void => {
    measures.inService(bytesOf(content));
    measures.reloaded('success');
  };
  applied(first);
  const stop = follow(
    {
      clock,
      pollMs,
      read: () => readFiles(directory, files),
      same: (one, other) => isDeepStrictEqual(one, other),
      use: async (next) => {
        current = build(await load(next, options));
        applied(next);
        for (const listener of listeners) listener();
        log.info('static admission manifests reloaded', { directory });
      },
      failed: (error) => {
        measures.reloaded('failure');
        log.error('static admission manifests cannot be used; keeping the previous ones', {
          directory,
          error: asError(error),
        });
      },
    },
    first,
  );
  scope.onClose(`static manifests of ${directory}`, stop);
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
  };
}

interface ManifestFile {
  readonly file: string;
  readonly text: string;
}

/** For their hash, which kube-apiserver makes of the same bytes. */
const bytesOf = (files: readonly ManifestFile[]): Buffer =>
  Buffer.from(files.map(({ text }) => (text === '' ? '' : `${text}\0`)).join(''));

async function readFiles(directory: string, files: Files): Promise<readonly ManifestFile[]> {
  try {
    const names = (await files.list(directory)).filter((name) => extensions.includes(path.extname(name).toLowerCase()));
    return await Promise.all(
      names.toSorted().map(async (name) => {
        const file = path.join(directory, name);
        return { file, text: (await files.read(file)).toString() };
      }),
    );
  } catch (error) {
    throw new ConfigurationError([`cannot read ${directory}: ${(error as Error).message}`]);
  }
}

async function load(
  files: readonly ManifestFile[],
  { resources }: Pick<StaticManifestsOptions<unknown>, 'resources'>,
): Promise<StaticManifests> {
  const faults: string[] = [];
  const places = new Map<KubeObject, string>();
  const objects = new Map(resources.map((resource) => [resource, new Map<string, KubeObject>()]));
  for (const { file, text } of files) {
    for (const manifest of manifestsIn(file, text, faults)) {
      const place = manifest.place === '' ? file : `${file}: ${manifest.place}`;
      const problems: string[] = [];
      const found = await objectIn(manifest, resources, problems);
      const named = found && objects.get(found.resource);
      if (found && named) {
        const { name = '' } = found.object.metadata;
        const other = named.get(name);
        if (!name.endsWith(staticSuffix))
          problems.push(
            `metadata.name: Invalid value: ${JSON.stringify(name)}: must end with ${JSON.stringify(staticSuffix)}`,
          );
        else if (other) problems.push(`metadata.name: Duplicate value: ${JSON.stringify(name)}: ${places.get(other)}`);
        named.set(name, found.object);
        places.set(found.object, place);
      }
      faults.push(...problems.map((problem) => `${place}: ${problem}`));
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return {
    of: (resource) =>
      [...(objects.get(resource) ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one),
    requireNoProblems: (problems) => {
      const all = [...problems].flatMap(([object, texts]) => texts.map((text) => `${places.get(object)}: ${text}`));
      if (all.length > 0) throw new ConfigurationError(all);
    },
  };
}

function manifestsIn(file: string, text: string, faults: string[]): readonly Manifest[] {
  try {
    return readManifests(text);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    faults.push(...error.faults.map((fault) => `${file}: ${fault}`));
    return [];
  }
}

interface Found {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** Undefined, with problems, if the kind refuses it. */
async function objectIn(
  { apiVersion, kind, value }: Manifest,
  resources: readonly Resource[],
  problems: string[],
): Promise<Found | undefined> {
  const resource = resources.find(({ served }) => served.apiVersion === apiVersion && served.kind === kind);
  if (!resource) {
    const known = resources.map(({ served }) => `${served.kind} of ${served.apiVersion}`).join(' or ');
    problems.push(`unsupported resource ${kind} of ${apiVersion}: expected ${known}`);
    return undefined;
  }
  const options = { namespace: undefined, dryRun: true, manager: 'apiserver', warn: () => {} };
  try {
    const decoded = decode(resource.kind.schema, value, (field) =>
      problems.push(`unknown field ${JSON.stringify(field)}`),
    ) as KubeObject;
    return { resource, object: await buildNew(resource, decoded, options) };
  } catch (error) {
    if (error instanceof WrongTypeError) problems.push(error.message);
    else if (error instanceof StatusError) problems.push(...problemsOf(error));
    else throw error;
    return undefined;
  }
}

function problemsOf({ message, details }: StatusError): readonly string[] {
  const causes = details?.causes ?? [];
  return causes.length === 0 ? [message] : causes.map(({ field, message: text }) => `${field}: ${text}`);
}
