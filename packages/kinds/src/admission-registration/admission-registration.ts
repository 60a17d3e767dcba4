import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject, VersionDeclaration } from '@cluster-apiserver/model/kind';
import { type FieldDeclarations, publicationOf } from '@cluster-apiserver/model/schema';

/** The group of admission policies and webhooks. */
export const admissionRegistration = { group: 'admissionregistration.k8s.io', version: 'v1' };

/** The published schema of a part of these kinds. */
export const publicationOfPart = (kind: string, description: string, required: readonly string[] = []) =>
  publicationOf({ ...admissionRegistration, kind }, description, required);

/** The shared part of their declarations. */
export const admissionKind = {
  ...admissionRegistration,
  namespaced: false,
  categories: ['api-extensions'],
  updateNeedsVersion: true,
} as const;

/**
 * The versions in which kube-apiserver stored policies and bindings; 1.36 still stores those that mutate as v1beta1. Their
 * fields are those of v1, and clients see none of them.
 */
export const unservedVersions = (fields: FieldDeclarations): readonly VersionDeclaration<KubeObject>[] =>
  ['v1beta1', 'v1alpha1'].map((version) => ({
    group: admissionRegistration.group,
    version,
    isServed: false,
    fields,
    renamed: {},
    selectableFields: {},
    validate: () => {},
  }));

/**
 * Validates objects on a create, and when this field changes. Another server, or another version of this one, may have
 * stored expressions that are invalid here: finalizers and labels of such an object can be changed all the same.
 */
export const validateChangesOf = <T extends KubeObject>(
  field: string,
  validate: (object: T, problems: Problems) => SyncTask<void>,
) =>
  function* validateChanges(object: T, current: T | undefined, problems: Problems): SyncTask<void> {
    if (!current || !sameJson(current[field], object[field])) yield* validate(object, problems);
  };
