import { toSyncTask } from '@cluster-apiserver/base';
import { notFound, StatusError } from '@cluster-apiserver/model';
import { type KubeObject, fieldSubresourceOf } from '@cluster-apiserver/model/kind';
import { readApplied } from '@cluster-apiserver/model/managed-fields';
import { apply, deleteObject, patch, type Resource } from '@cluster-apiserver/registry';
import type { Call, Revision } from '@cluster-apiserver/storage';

/** A name can be reused and a uid cannot, so both together identify an object. */
export interface ObjectIdentity {
  /** Undefined or empty for an object of the cluster. */
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly uid: string;
}

export interface ObjectChange {
  /** The writer, in managedFields. */
  readonly manager: string;
  /** The subresource that is written; the object itself without one. */
  readonly subresource?: string;
  /** Called again with a newer state after another writer came first. */
  readonly change: (current: KubeObject) => object;
}

/** Patches the object, or does nothing if it no longer exists. */
export function changeObject(
  resource: Resource,
  { namespace, name, uid }: ObjectIdentity,
  { manager, subresource, change }: ObjectChange,
  call: Call,
): Promise<void> {
  const { kind } = resource;
  const changeThisOne = (current: KubeObject): object => {
    if (current.metadata.uid !== uid) throw notFound(kind, name);
    return change(current);
  };
  const options = {
    namespace: kind.namespaced ? namespace : undefined,
    ...(subresource !== undefined && { subresource: fieldSubresourceOf(kind, subresource) }),
    dryRun: false,
    manager,
    warn: ignoreWarning,
    unknownFields: ignoreWarning,
    change: toSyncTask(changeThisOne),
  };
  return unlessGone(patch(resource, name, options, call));
}

export interface OwnedFields {
  /** The writer, in managedFields. */
  readonly manager: string;
  /** The subresource that is written; the object itself without one. */
  readonly subresource?: string;
  readonly fields: object;
}

/**
 * Applies fields that a controller owns to a cluster-scoped object, and takes them over from other managers. Rejects if
 * the object no longer exists, or is another one.
 */
export async function applyFields(
  resource: Resource,
  { name, uid }: ObjectIdentity,
  { manager, subresource, fields }: OwnedFields,
  call: Call,
): Promise<void> {
  const { kind } = resource;
  const types = { kind: kind.kind, apiVersion: kind.apiVersion };
  const configuration = readApplied(kind.schema, { ...types, metadata: { name, uid }, ...fields }, ignoreWarning);
  const options = { namespace: undefined, dryRun: false, manager, warn: ignoreWarning, force: true };
  await apply(
    resource,
    name,
    configuration,
    { ...options, ...(subresource !== undefined && { subresource: fieldSubresourceOf(kind, subresource) }) },
    call,
  );
}

/** Deletes the object, in this state if there is a revision. Returns false if it is gone, or has another state by now. */
export async function deleteUnlessChanged(
  resource: Resource,
  { namespace, name, uid, revision }: ObjectIdentity & { readonly revision?: Revision },
  call: Call,
): Promise<boolean> {
  const preconditions = { uid, ...(revision !== undefined && { resourceVersion: String(revision) }) };
  const within = resource.kind.namespaced ? namespace : undefined;
  try {
    await deleteObject(resource, name, { namespace: within, dryRun: false, preconditions }, call);
    return true;
  } catch (error) {
    if (error instanceof StatusError && (error.reason === 'NotFound' || error.reason === 'Conflict')) return false;
    throw error;
  }
}

/** Ignores that the object no longer exists. */
export async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
  }
}

/** Controllers have no client to send warnings to. */
export const ignoreWarning = (): void => {};
