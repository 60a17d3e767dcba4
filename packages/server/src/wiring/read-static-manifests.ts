import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import { ConfigurationError, type Manifest, type Problem, readManifests } from '@cluster-apiserver/config';
import { decode, type KubeObject, StatusError, WrongTypeError } from '@cluster-apiserver/model';
import {
  findStaticPolicyProblems,
  findStaticWebhookProblems,
  type StaticPolicies,
  type StaticProblems,
  staticSuffix,
} from '@cluster-apiserver/policies';
import { buildObject, type ResourceKind } from '@cluster-apiserver/registry';
import type { Files } from '../environment.ts';

/** The objects of static manifests, defaulted and validated like new objects. */
export interface StaticManifests {
  /** In the order of their names. */
  of(resource: ResourceKind): readonly KubeObject[];
  /** Throws a ConfigurationError with the problems of all objects. */
  requireNoProblems(problems: StaticProblems): void;
}

/** Policies with their bindings. Throws a ConfigurationError if they do not fit together. */
export function buildStaticPolicies(
  manifests: StaticManifests,
  of: { readonly policies: ResourceKind; readonly bindings: ResourceKind },
): StaticPolicies {
  const objects = { policies: manifests.of(of.policies), bindings: manifests.of(of.bindings) };
  manifests.requireNoProblems(findStaticPolicyProblems(objects));
  return objects;
}

/** Webhook configurations. Throws a ConfigurationError for what static manifests must not contain. */
export function buildStaticWebhooks(manifests: StaticManifests, configurations: ResourceKind): readonly KubeObject[] {
  const objects = manifests.of(configurations);
  manifests.requireNoProblems(findStaticWebhookProblems(objects));
  return objects;
}

const extensions = ['.yaml', '.yml', '.json'];

export interface ManifestFile {
  readonly file: string;
  readonly text: string;
}

/** Throws a ConfigurationError if a file cannot be read. */
export async function readManifestFiles(directory: string, files: Files): Promise<readonly ManifestFile[]> {
  try {
    const names = (await files.list(directory)).filter((name) => extensions.includes(path.extname(name).toLowerCase()));
    return await Promise.all(
      names.toSorted().map(async (name) => {
        const file = path.join(directory, name);
        return { file, text: (await files.read(file)).toString() };
      }),
    );
  } catch (error) {
    throw new ConfigurationError([`cannot read ${directory}: ${errorMessage(error)}`]);
  }
}

/** Throws a ConfigurationError with all problems. */
export async function readStaticManifests(
  files: readonly ManifestFile[],
  resources: readonly ResourceKind[],
): Promise<StaticManifests> {
  const faults: Problem[] = [];
  const places = new Map<KubeObject, ObjectSource>();
  const objects = new Map(resources.map((resource) => [resource, new Map<string, KubeObject>()]));
  for (const { file, text } of files) {
    for (const manifest of parseManifests(file, text, faults)) {
      const place = manifest.place === '' ? file : `${file}: ${manifest.place}`;
      const placed: ObjectSource = { place, problem: (one) => toProblem(manifest, place, one) };
      const problems: ObjectProblem[] = [];
      const found = await decodeObject(manifest, resources, problems);
      const named = found && objects.get(found.resource);
      if (found && named) {
        const { name = '' } = found.object.metadata;
        const other = named.get(name);
        const ofName = (message: string): number => problems.push({ path: 'metadata.name', message });
        if (!name.endsWith(staticSuffix))
          ofName(`Invalid value: ${JSON.stringify(name)}: must end with ${JSON.stringify(staticSuffix)}`);
        else if (other) ofName(`Duplicate value: ${JSON.stringify(name)}: ${places.get(other)?.place}`);
        named.set(name, found.object);
        places.set(found.object, placed);
      }
      faults.push(...problems.map(placed.problem));
    }
  }
  if (faults.length > 0) throw new ConfigurationError(faults);
  return {
    of: (resource) =>
      [...(objects.get(resource) ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one),
    requireNoProblems: (problems) => {
      const all = [...problems].flatMap(([object, texts]) =>
        texts.flatMap((text) => places.get(object)?.problem(splitPath(text)) ?? []),
      );
      if (all.length > 0) throw new ConfigurationError(all);
    },
  };
}

/** A problem of an object, at a path into it; empty for the object as a whole. */
interface ObjectProblem {
  readonly path: string;
  readonly message: string;
  readonly saysPath?: boolean;
}

interface ObjectSource {
  readonly place: string;
  readonly problem: (problem: ObjectProblem) => Problem;
}

const toProblem = ({ problem }: Manifest, place: string, { path: at, message, saysPath }: ObjectProblem): Problem =>
  problem(at, message, `${place}: ${at === '' || saysPath ? '' : `${at}: `}${message}`);

/** Splits a message that begins with a path. */
function splitPath(text: string): ObjectProblem {
  const [, at = '', message = text] = /^([^\s:]+): (.*)$/s.exec(text) ?? [];
  return { path: at, message };
}

function parseManifests(file: string, text: string, faults: Problem[]): readonly Manifest[] {
  try {
    return readManifests(text, file);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    faults.push(...error.problems.map((problem) => ({ ...problem, text: `${file}: ${problem.text}`, file })));
    return [];
  }
}

interface DecodedObject {
  readonly resource: ResourceKind;
  readonly object: KubeObject;
}

/** Returns undefined and adds problems for an invalid object. */
async function decodeObject(
  { apiVersion, kind, value }: Manifest,
  resources: readonly ResourceKind[],
  problems: ObjectProblem[],
): Promise<DecodedObject | undefined> {
  const resource = resources.find(({ served }) => served.apiVersion === apiVersion && served.kind === kind);
  if (!resource) {
    const known = resources.map(({ served }) => `${served.kind} of ${served.apiVersion}`).join(' or ');
    problems.push({ path: '', message: `unsupported resource ${kind} of ${apiVersion}: expected ${known}` });
    return undefined;
  }
  const options = { namespace: undefined, dryRun: true, manager: 'apiserver', warn: () => {} };
  try {
    const decoded = decode(resource.kind.schema, value, (field) =>
      problems.push({ path: field, message: `unknown field ${JSON.stringify(field)}`, saysPath: true }),
    );
    return { resource, object: await buildObject(resource, decoded, options) };
  } catch (error) {
    if (error instanceof WrongTypeError) problems.push(splitPath(error.message));
    else if (error instanceof StatusError) problems.push(...toObjectProblems(error));
    else throw error;
    return undefined;
  }
}

function toObjectProblems({ message, details }: StatusError): readonly ObjectProblem[] {
  const causes = details?.causes ?? [];
  return causes.length === 0
    ? [{ path: '', message }]
    : causes.map(({ field = '', message: text }) => ({ path: field, message: text }));
}
