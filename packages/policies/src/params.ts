import type { SyncTask } from '@cluster-apiserver/base';
import type { ParamKind, ParamRef } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';

/** The objects of one kind that may hold parameters. */
export interface ParamObjects {
  readonly namespaced: boolean;
  get(namespace: string | undefined, name: string): KubeObject | undefined;
  select(
    namespace: string | undefined,
    matches: (labels: Readonly<Record<string, string>>) => boolean,
  ): SyncTask<readonly KubeObject[]>;
}

/** Why a policy or a binding cannot be evaluated; its failurePolicy applies. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
}

export function requireParams(
  kind: ParamKind | undefined,
  { params }: { readonly params: (kind: ParamKind) => ParamObjects | undefined },
): ParamObjects | undefined {
  if (!kind) return undefined;
  const found = params(kind);
  if (!found)
    throw new ConfigurationError(
      `failed to find resource referenced by paramKind: '${kind.apiVersion ?? ''}, Kind=${kind.kind ?? ''}'`,
    );
  return found;
}

/** The parameters of a binding, which is evaluated once with each. */
export function* findParams(
  objects: ParamObjects,
  ref: ParamRef,
  matches: (labels: Readonly<Record<string, string>>) => boolean,
  namespace: string | undefined,
): SyncTask<readonly KubeObject[]> {
  const found = yield* selectParams(objects, ref, matches, namespace);
  if (found.length === 0 && ref.parameterNotFoundAction === 'Deny')
    throw new ConfigurationError('no params found for policy binding with `Deny` parameterNotFoundAction');
  return found;
}

function* selectParams(
  objects: ParamObjects,
  { name = '', namespace: given = '' }: ParamRef,
  matches: (labels: Readonly<Record<string, string>>) => boolean,
  ofRequest: string | undefined,
): SyncTask<readonly KubeObject[]> {
  if (!objects.namespaced && given !== '')
    throw new ConfigurationError('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  const namespace = objects.namespaced ? given || ofRequest : undefined;
  if (objects.namespaced && namespace === undefined)
    throw new ConfigurationError(
      'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
    );
  if (name === '') return yield* objects.select(namespace, matches);
  const found = objects.get(namespace, name);
  return found ? [found] : [];
}
