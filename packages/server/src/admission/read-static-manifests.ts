import path from 'node:path';
import { errorMessage } from '@cluster-apiserver/base';
import { ConfigurationError, type Manifest, type Problem, readManifests } from '@cluster-apiserver/config';
import { formatPath, type Path, StatusError } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode, WrongTypeError } from '@cluster-apiserver/model/schema';
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
  /** Whether an object has this name, valid or not. */
  hasName(resource: ResourceKind, name: string): boolean;
  /** Adds the places of the objects to their problems. */
  locate(problems: StaticProblems): readonly Problem[];
}

interface PolicyKinds {
  readonly policies: ResourceKind;
  readonly bindings: ResourceKind;
}

/** Policies with their bindings. Throws a ConfigurationError if they do not fit together. */
export function requireStaticPolicies(manifests: StaticManifests, kinds: PolicyKinds): StaticPolicies {
  requireNoProblems(findPolicyProblems(manifests, kinds));
  return policiesOf(manifests, kinds);
}

export const findPolicyProblems = (manifests: StaticManifests, kinds: PolicyKinds): readonly Problem[] =>
  manifests.locate(
    findStaticPolicyProblems(policiesOf(manifests, kinds), (name) => manifests.hasName(kinds.policies, name)),
  );

const policiesOf = (manifests: StaticManifests, { policies, bindings }: PolicyKinds): StaticPolicies => ({
  policies: manifests.of(policies),
  bindings: manifests.of(bindings),
});

/** Webhook configurations. Throws a ConfigurationError for what static manifests must not contain. */
export function requireStaticWebhooks(manifests: StaticManifests, configurations: ResourceKind): readonly KubeObject[] {
  requireNoProblems(findWebhookProblems(manifests, configurations));
  return manifests.of(configurations);
}

export const findWebhookProblems = (manifests: StaticManifests, configurations: ResourceKind): readonly Problem[] =>
  manifests.locate(findStaticWebhookProblems(manifests.of(configurations)));

function requireNoProblems(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new ConfigurationError(problems);
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
export async function loadStaticManifests(
  files: readonly ManifestFile[],
  resources: readonly ResourceKind[],
): Promise<StaticManifests> {
  const problems: Problem[] = [];
  const manifests = await readStaticManifests(files, resources, problems);
  requireNoProblems(problems);
  return manifests;
}

/** Adds problems to `faults` instead of throwing. The result has the valid objects. */
export async function readStaticManifests(
  files: readonly ManifestFile[],
  resources: readonly ResourceKind[],
  faults: Problem[],
): Promise<StaticManifests> {
  const names = new Map(resources.map((resource) => [resource, new Set<string>()]));
  const places = new Map<KubeObject, ObjectSource>();
  const objects = new Map(resources.map((resource) => [resource, new Map<string, KubeObject>()]));
  for (const { file, text } of files) {
    for (const manifest of parseManifests(file, text, faults)) {
      const place = manifest.place === '' ? file : `${file}: ${manifest.place}`;
      const placed: ObjectSource = { place, problem: (one) => toProblem(manifest, place, one) };
      const problems: ObjectProblem[] = [];
      const resource = findResource(manifest, resources, problems);
      if (resource) names.get(resource)?.add(nameOf(manifest));
      const found = resource && (await decodeObject(manifest, resource, problems));
      const named = found && objects.get(found.resource);
      if (found && named) {
        const { name = '' } = found.object.metadata;
        const other = named.get(name);
        const ofName = (message: string): number => problems.push({ path: ['metadata', 'name'], message });
        if (!name.endsWith(staticSuffix))
          ofName(`Invalid value: ${JSON.stringify(name)}: must end with ${JSON.stringify(staticSuffix)}`);
        else if (other) ofName(`Duplicate value: ${JSON.stringify(name)}: ${places.get(other)?.place}`);
        named.set(name, found.object);
        places.set(found.object, placed);
      }
      faults.push(...problems.map(placed.problem));
    }
  }
  return {
    of: (resource) =>
      [...(objects.get(resource) ?? [])].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, one]) => one),
    hasName: (resource, name) => names.get(resource)?.has(name) ?? false,
    locate: (problems) =>
      [...problems].flatMap(([object, { errors }]) =>
        errors.flatMap((error) => places.get(object)?.problem(error) ?? []),
      ),
  };
}

/** A problem at a path into an object; empty for the object as a whole. */
interface ObjectProblem {
  readonly path: Path;
  readonly message: string;
  readonly saysPath?: boolean;
}

interface ObjectSource {
  readonly place: string;
  readonly problem: (problem: ObjectProblem) => Problem;
}

const toProblem = ({ problem }: Manifest, place: string, { path: at, message, saysPath }: ObjectProblem): Problem =>
  problem(at, message, `${place}: ${at.length === 0 || saysPath ? '' : `${formatPath(at)}: `}${message}`);

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

function nameOf({ value }: Manifest): string {
  const { metadata } = value as { readonly metadata?: { readonly name?: unknown } | null };
  return typeof metadata?.name === 'string' ? metadata.name : '';
}

/** Returns undefined and adds a problem for an object of another kind. */
function findResource(
  { apiVersion, kind }: Manifest,
  resources: readonly ResourceKind[],
  problems: ObjectProblem[],
): ResourceKind | undefined {
  const resource = resources.find(({ served }) => served.apiVersion === apiVersion && served.kind === kind);
  if (!resource) {
    const known = resources.map(({ served }) => `${served.kind} of ${served.apiVersion}`).join(' or ');
    problems.push({ path: [], message: `unsupported resource ${kind} of ${apiVersion}: expected ${known}` });
  }
  return resource;
}

/** Returns undefined and adds problems for an invalid object. */
async function decodeObject(
  { value }: Manifest,
  resource: ResourceKind,
  problems: ObjectProblem[],
): Promise<DecodedObject | undefined> {
  const options = { namespace: undefined, dryRun: true, manager: 'apiserver', warn: () => {} };
  try {
    const decoded = decode(resource.kind.schema, value, (field) =>
      problems.push({ path: field, message: `unknown field ${JSON.stringify(formatPath(field))}`, saysPath: true }),
    );
    return { resource, object: await buildObject(resource, decoded, options) };
  } catch (error) {
    if (error instanceof WrongTypeError) problems.push(toObjectProblem(error));
    else if (error instanceof StatusError) problems.push(...toObjectProblems(error));
    else throw error;
    return undefined;
  }
}

/** A problem of the object as a whole says so. */
const toObjectProblem = ({ path: at, problem, message }: WrongTypeError): ObjectProblem =>
  at.length === 0 ? { path: at, message } : { path: at, message: problem };

function toObjectProblems({ message, problems, details }: StatusError): readonly ObjectProblem[] {
  if (!problems) return [{ path: [], message }];
  const { errors } = problems;
  // Those beyond the bound are counted in the last cause.
  const more = details?.causes?.slice(errors.length) ?? [];
  return [...errors, ...more.map((cause) => ({ path: [], message: cause.message }))];
}
