import {
  badRequest,
  conflict,
  decode,
  decodeStored,
  invalid,
  invalidValue,
  type KubeObject,
  notFound,
  WrongTypeError,
} from '@cluster-apiserver/model';
import type { Call } from '@cluster-apiserver/storage';
import type { Outcome } from './outcome.ts';
import { asUpdate, modified, updated } from './replace.ts';
import type { Resource } from './resource.ts';
import { parseResourceVersion } from './resource-version.ts';
import { answering } from './storage-answers.ts';
import { inNamespace, withDistinctOwners } from './system-fields.ts';
import type { WriteOptions } from './write-options.ts';
import { type Written, writeOver } from './write-over.ts';

export interface PatchOptions extends WriteOptions {
  /** From the object as clients see it to the object as it shall be. Called again after a conflict. */
  readonly apply: (current: unknown) => unknown;
  /** Tells of fields that the patched object has and its kind does not know. */
  readonly unknownFields: (paths: readonly string[]) => void;
}

/** The whole meaning of "patch", for every kind and every type of patch that changes what is there. */
export function patch(resource: Resource, name: string, options: PatchOptions, call: Call): Promise<Written> {
  return answering(async () => {
    const { kind } = resource;
    const written = await writeOver(resource, { namespace: options.namespace, name }, options, call, (current) => {
      if (!current) throw notFound(kind, name);
      const next = patched(resource, current, options);
      const expected = parseResourceVersion(next.metadata.resourceVersion);
      if (typeof expected === 'number' && expected !== current.revision) throw conflict(kind, name, modified);
      return updated(resource, next, current, options);
    });
    return asUpdate(written);
  });
}

function patched({ kind }: Resource, current: Outcome, options: PatchOptions): KubeObject {
  const result = options.apply(decodeStored(current.json));
  const unknown: string[] = [];
  try {
    const next = decode(kind.schema, result, (path) => unknown.push(path)) as KubeObject;
    if (next.kind !== kind.kind || next.apiVersion !== kind.apiVersion)
      throw new WrongTypeError('kind', `cannot be changed to ${next.apiVersion}/${next.kind}`);
    if (next.metadata.name !== current.object.metadata.name)
      throw badRequest(
        `the name of the object (${next.metadata.name}) does not match the name on the URL (${current.object.metadata.name})`,
      );
    options.unknownFields(unknown);
    return withDistinctOwners(inNamespace(next, options.namespace), options.warn);
  } catch (error) {
    if (error instanceof WrongTypeError)
      throw invalid({ group: '', kind: '' }, '', [invalidValue('patch', '', error.message)]);
    throw error;
  }
}
