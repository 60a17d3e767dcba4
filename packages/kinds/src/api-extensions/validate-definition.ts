import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { WriteContext } from '@cluster-apiserver/model/kind';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { validateApproval } from './approval.ts';
import { findBundleProblem } from './ca-bundle.ts';
import { isTrue } from './conditions.ts';
import { validateConversion } from './conversion.ts';
import type { CustomResourceDefinition, DefinitionSpec } from './definition-fields.ts';
import { requireNames, validateNames } from './names.ts';
import { validateVersions } from './versions.ts';

/** Versions that came and went, too. */
const storedVersionsMax = 1_000;

/** Known controllers write ten. */
const conditionsMax = 100;

/** Another server may have stored more. */
export function validateConditionCount(
  { status }: Partial<CustomResourceDefinition>,
  current: CustomResourceDefinition | undefined,
  problems: Problems,
): void {
  const { length } = status?.conditions ?? [];
  if (length > conditionsMax && length > (current?.status.conditions ?? []).length)
    problems.at('status', 'conditions').tooMany(length, conditionsMax);
}

export function* validateDefinition(
  definition: CustomResourceDefinition,
  current: CustomResourceDefinition | undefined,
  problems: Problems,
  { subresource }: WriteContext,
): SyncTask<void> {
  const { metadata, spec, status } = definition;
  validateConditionCount(definition, current, problems);
  if (!current)
    for (const name of ['generateName', 'name'] as const)
      if (metadata[name] && metadata[name] !== `${spec.names.plural}.${spec.group}`)
        problems.at('metadata', name).invalid(metadata[name], 'must be spec.names.plural+"."+spec.group');
  yield* validateSpec(definition, current, problems.at('spec'));
  validateNames(status.acceptedNames, problems.at('status', 'acceptedNames'));
  const { length } = status.storedVersions ?? [];
  if (length > storedVersionsMax) problems.at('status', 'storedVersions').tooMany(length, storedVersionsMax);
  if (subresource !== undefined) return;
  validateStoredVersions(definition, problems.at('status', 'storedVersions'));
  validateApproval(definition, current, problems);
}

/**
 * Validates the spec if it changes. Another server may have stored what is invalid here: finalizers and labels of such a
 * definition can be changed all the same.
 */
function* validateSpec(
  definition: CustomResourceDefinition,
  current: CustomResourceDefinition | undefined,
  at: Problems,
): SyncTask<void> {
  const { spec } = definition;
  yield;
  if (current && sameJson(spec, current.spec)) return;
  yield;
  validateGroup(spec.group, at.at('group'));
  if (spec.scope === '') at.at('scope').required();
  else at.at('scope').oneOf(spec.scope, ['Cluster', 'Namespaced']);
  yield* validateVersions(spec.versions, current?.spec.versions ?? [], at);
  requireNames(spec.names, at.at('names'));
  validateNames(spec.names, at.at('names'));
  if (spec.preserveUnknownFields)
    at.at('preserveUnknownFields').invalid(
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    );
  const requiresBundle = current !== undefined && (yield* isBundleInUse(current));
  if (spec.conversion) yield* validateConversion(spec.conversion, { requiresBundle }, at.at('conversion'));
  if (current) validateFixed(spec, current, at);
}

function validateGroup(group: string, at: Problems): void {
  if (group === '') return void at.required();
  const details = subdomainNames.whole(group);
  if (details.length > 0) at.invalid(group, details.join(','));
  else if (!group.includes('.')) at.invalid(group, 'should be a domain with at least one dot');
}

/** Objects are stored under the names, and hold the kind. */
function validateFixed(spec: DefinitionSpec, current: CustomResourceDefinition, at: Problems): void {
  const before = current.spec;
  const requireSame = (place: Problems, next: string, stored: string): void => {
    if (next !== stored) place.invalid(next, 'field is immutable');
  };
  if (isTrue(current, 'Established')) {
    requireSame(at.at('scope'), spec.scope, before.scope);
    requireSame(at.at('names', 'kind'), spec.names.kind, before.names.kind);
  }
  requireSame(at.at('group'), spec.group, before.group);
  requireSame(at.at('names', 'plural'), spec.names.plural, before.names.plural);
}

/** Whether the definition is established with a bundle that can be read, or without any. */
function* isBundleInUse(current: CustomResourceDefinition): SyncTask<boolean> {
  if (!isTrue(current, 'Established')) return false;
  const { caBundle = '' } = current.spec.conversion?.webhook?.clientConfig ?? {};
  return caBundle === '' || (yield* findBundleProblem(caBundle)) === undefined;
}

/** A version may only go when no object is stored in it any more. */
function validateStoredVersions({ spec, status }: CustomResourceDefinition, at: Problems): void {
  const stored = status.storedVersions ?? [];
  if (stored.length === 0) return void at.invalid(status.storedVersions, 'must have at least one stored version');
  const left = new Map(stored.map((name, index) => [name, index]));
  for (const { name, storage } of spec.versions ?? []) {
    // As kube-apiserver reports it, also of the second of two versions with one name.
    if (!left.delete(name) && storage) at.invalid(stored, `must have the storage version ${name}`);
  }
  for (const [name, index] of left) {
    at.at(index).invalid(
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
    );
  }
}
