import { forbiddenResource, type ResourceAttributes, type StatusError } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject, OwnerReference } from '@cluster-apiserver/model/kind';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type AdmissionContext, type AdmissionPlugin, nameOf } from './admission.ts';
import { decideRight } from './writer-rights.ts';

/** A resource that serves a kind. */
export interface OwnerResource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface OwnerReferencesOptions {
  readonly authorizer: Authorizer;
  readonly resourceOf: (apiVersion: string, kind: string) => OwnerResource | undefined;
}

/**
 * Owners decide when an object is deleted, so changing them requires the verb `delete` on the object. Blocking the deletion
 * of an owner requires `update` on the owner's finalizers.
 */
export const createOwnerReferencesPermissionEnforcement = (options: OwnerReferencesOptions): AdmissionPlugin => ({
  name: 'OwnerReferencesPermissionEnforcement',
  validate: (context) => {
    const { object, oldObject } = context;
    if (!object || !changesOwners(object, oldObject)) return undefined;
    return requireRights(context, object, options);
  },
});

/** The order counts, too. */
const changesOwners = (object: KubeObject, oldObject: KubeObject | undefined): boolean =>
  !sameJson(ownersOf(object), ownersOf(oldObject));

const ownersOf = (object: KubeObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? [];

async function requireRights(
  context: AdmissionContext,
  object: KubeObject,
  options: OwnerReferencesOptions,
): Promise<undefined> {
  if (context.operation !== 'CREATE') {
    const refusal = await findRefusal(context, options, 'delete', getResource(context));
    if (refusal) throw forbidden(context, `cannot set an ownerRef on a resource you can't delete: ${refusal.reason}`);
  }
  const blocking = findNewBlockingOwners(object, context.oldObject);
  if (blocking.length === 0 || !(await findRefusal(context, options, 'update', anyFinalizers))) return;
  for (const owner of blocking) {
    const refusal = await findRefusal(context, options, 'update', getFinalizers(owner, context, options));
    if (refusal)
      throw forbidden(
        context,
        `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${refusal.reason}`,
      );
  }
}

const getResource = ({ resource, subresource, namespace, name }: AdmissionContext): ResourceAttributes => ({
  group: resource.group,
  version: resource.version,
  resource: resource.plural,
  subresource,
  namespace,
  name,
});

const anyFinalizers: ResourceAttributes = {
  group: '*',
  version: '*',
  resource: '*',
  subresource: 'finalizers',
  namespace: undefined,
  name: '*',
};

/** A namespaced owner is in the namespace of the object. */
function getFinalizers(
  { apiVersion = '', kind = '', name }: OwnerReference,
  context: AdmissionContext,
  { resourceOf }: OwnerReferencesOptions,
): ResourceAttributes {
  const found = resourceOf(apiVersion, kind);
  if (!found)
    throw forbidden(
      context,
      `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`,
    );
  const { group, version, plural, namespaced } = found;
  const namespace = namespaced ? context.namespace : undefined;
  return { group, version, resource: plural, subresource: 'finalizers', namespace, name };
}

/** Owners that the object did not have, or whose deletion it did not block. */
function findNewBlockingOwners(object: KubeObject, oldObject: KubeObject | undefined): readonly OwnerReference[] {
  const before = new Map(ownersOf(oldObject).map((owner) => [owner.uid, owner]));
  return ownersOf(object).filter(
    ({ uid, blockOwnerDeletion }) => blockOwnerDeletion === true && before.get(uid)?.blockOwnerDeletion !== true,
  );
}

/** Undefined if the writer has the permission. */
async function findRefusal(
  context: AdmissionContext,
  { authorizer }: OwnerReferencesOptions,
  verb: string,
  resource: ResourceAttributes,
): Promise<{ readonly reason: string } | undefined> {
  const { verdict, reason = '', error } = await decideRight(context, authorizer, verb, resource);
  return verdict === 'allow' ? undefined : { reason: `${reason}, ${error?.message ?? '<nil>'}` };
}

const forbidden = (context: AdmissionContext, problem: string): StatusError =>
  forbiddenResource(context.resource, nameOf(context), problem);
