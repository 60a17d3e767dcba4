import { type Call, type SyncTask, type Task } from '@cluster-apiserver/base';
import { formatPath, formatValue, invalid, notFound, Problems } from '@cluster-apiserver/model';
import type { ApiVersion, KubeObject } from '@cluster-apiserver/model/kind';
import { withExplicitReset } from '@cluster-apiserver/model/managed-fields';
import { decodeInSteps, WrongTypeError } from '@cluster-apiserver/model/schema';
import { fromServed, toServed } from '../conversion.ts';
import type { Outcome } from '../outcome.ts';
import { answerAsUpdate, requireExpectedVersion, requireVersion, updateObject } from '../write/updated-object.ts';
import type { Resource } from '../resource.ts';
import { withStatusErrors } from '../storage-errors.ts';
import { inNamespace, requireName, withDistinctOwners } from '../write/system-fields.ts';
import { withPatchErrors } from '../write/patch-errors.ts';
import type { WriteOptions } from '../write/write-options.ts';
import { type Decision, type UpdateResult, guaranteedUpdate } from '../write/guaranteed-update.ts';

export interface PatchOptions extends WriteOptions {
  /** Patches the object as clients see it, without changing it in place. Called again after a conflict. */
  readonly change: (current: KubeObject) => SyncTask<unknown>;
  /** Reports fields of the patched object that its kind does not have. */
  readonly unknownFields: (paths: readonly string[]) => void;
}

/** Implements "patch" for every kind and every type of patch except apply. */
export function patch(resource: Resource, name: string, options: PatchOptions, call: Call): Promise<UpdateResult> {
  return withStatusErrors(async () => {
    const { served } = resource;
    const written = await guaranteedUpdate(
      resource,
      { namespace: options.namespace, name },
      options,
      call,
      (current) => {
        if (!current) throw notFound(served, name);
        return withPatchErrors(decidePatch(resource, name, current, options, call));
      },
    );
    return answerAsUpdate(written);
  });
}

function* decidePatch(
  resource: Resource,
  name: string,
  current: Outcome,
  options: PatchOptions,
  call: Call,
): Task<Decision> {
  const shown = toServed(resource, withVersion(current));
  yield;
  const patched = yield* patchObject(resource.served, name, shown, options);
  const asked = fromServed(resource, patched);
  const next = withDistinctOwners(inNamespace(asked, options.namespace), options.warn, 'mutated');
  requireVersion(resource, next, options);
  requireExpectedVersion(resource.served, next, current);
  yield;
  return yield* updateObject(resource, next, current, options, call);
}

function* patchObject(
  served: ApiVersion,
  name: string,
  shown: KubeObject,
  options: PatchOptions,
): SyncTask<KubeObject> {
  const unknown: string[] = [];
  try {
    const result = yield* options.change(shown);
    yield;
    const decoded = yield* decodeInSteps(
      served.schema,
      withExplicitReset(served, result),
      (path) => unknown.push(formatPath(path)),
      { current: shown },
    );
    const { kind = served.kind, apiVersion = served.apiVersion } = decoded;
    if (kind !== served.kind || apiVersion !== served.apiVersion) refuseTypeNames(served, name, { kind, apiVersion });
    // The path implies kind and apiVersion, so a patch may leave them out, as a body may.
    const next = decoded.kind && decoded.apiVersion ? decoded : { ...decoded, kind, apiVersion };
    requireName(next, name);
    options.unknownFields(unknown);
    yield;
    return next;
  } catch (error) {
    if (error instanceof WrongTypeError)
      throw invalid({ group: '', kind: '' }, '', new Problems().at('patch').invalid('', error.message));
    throw error;
  }
}

/** Those of custom objects may be of any type, and are refused each at its place. */
function refuseTypeNames(
  served: ApiVersion,
  name: string,
  { kind, apiVersion }: { readonly kind: unknown; readonly apiVersion: unknown },
): never {
  if (!served.isCustom || typeof kind !== 'string' || kind === '' || typeof apiVersion !== 'string')
    throw new WrongTypeError(
      ['kind'],
      `cannot be changed to ${typeof kind === 'string' ? kind : formatValue(kind)} in version ${formatValue(apiVersion)}`,
    );
  const problems = new Problems();
  if (kind !== served.kind) problems.at('kind').invalid(kind, `must be ${served.kind}`);
  if (apiVersion !== served.apiVersion) problems.at('apiVersion').invalid(apiVersion, `must be ${served.apiVersion}`);
  throw invalid({ group: apiVersion.slice(0, Math.max(0, apiVersion.indexOf('/'))), kind }, name, problems);
}

const withVersion = ({ object, revision }: Outcome): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});
