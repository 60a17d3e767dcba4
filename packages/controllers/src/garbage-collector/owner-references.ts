import type { OwnerReference } from '@cluster-apiserver/model/kind';
import type { LiveApi, Resource, StoredObject } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';

/** An owner reference, resolved to the place of the owner in its collection. */
export interface ResolvedReference {
  readonly resource: Resource;
  readonly itemKey: string;
  readonly uid: string;
  readonly blocks: boolean;
}

export interface ResolvedReferences {
  readonly references: readonly ResolvedReference[];
  /** There are also owners of kinds that are not served here; they count as present. */
  readonly hasUnknownOwners: boolean;
}

export type ReferenceResolver = (resource: Resource, object: StoredObject) => ResolvedReferences;

const none: ResolvedReferences = { references: [], hasUnknownOwners: false };

/** A reference may name its owner in any version in which it is served now. */
export function referenceResolver(api: LiveApi): ReferenceResolver {
  return ({ kind }, { namespace, lifecycle }) => {
    if (!lifecycle?.ownerReferences) return none;
    const references: ResolvedReference[] = [];
    let hasUnknownOwners = false;
    for (const reference of lifecycle.ownerReferences) {
      const named = api.byKind(reference.apiVersion ?? '', reference.kind ?? '');
      const owner = named?.kind.ownsOthers ? api.ofVersion(named.stored) : undefined;
      // A cluster-scoped object cannot have a namespaced owner: the reference has no namespace.
      if (!owner || (owner.kind.namespaced && !kind.namespaced)) hasUnknownOwners = true;
      else references.push(resolve(owner, namespace, reference));
    }
    return { references, hasUnknownOwners };
  };
}

/** An owner is in the namespace of its dependent or cluster-scoped. */
function resolve(resource: Resource, namespace: string, reference: OwnerReference): ResolvedReference {
  const { name = '', uid, blockOwnerDeletion = false } = reference;
  const path = resource.kind.namespaced ? `${namespace}/${name}` : name;
  return { resource, itemKey: itemKey(path), uid, blocks: blockOwnerDeletion };
}
