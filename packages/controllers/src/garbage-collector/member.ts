import {
  byteString,
  decodeStored,
  foregroundFinalizer,
  type KubeObject,
  orphanFinalizer,
} from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
import type { Revision, Stored } from '@cluster-apiserver/storage';

/** What the collector keeps of an object: who it is, whom it depends on, and how it is going if it is going. */
export interface Member extends Identity {
  readonly resource: Resource;
  /** Undefined for what lies in none. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** Every write that follows from this state is made under the condition that it still is the state. */
  readonly revision: Revision;
  readonly owners: readonly Owner[];
  /** It also has owners of kinds that nobody can look up here; they count as living. */
  readonly ownedByStrangers: boolean;
  readonly leaving: Leaving | undefined;
}

/** A name can be given again, a uid cannot: only both together mean one object. */
export interface Identity {
  readonly key: string;
  readonly uid: string;
}

/** An owner as the dependent names it, which says nothing about whether there is one. */
export interface Owner extends Identity {
  readonly resource: Resource;
  readonly name: string;
  /** An owner that leaves in the foreground waits for this dependent. */
  readonly blocks: boolean;
}

/** A deletion that has begun: what it does with dependents, or that finalizers of others hold it. */
export type Leaving = 'foreground' | 'orphan' | 'held by others';

/** How objects of the kinds served are read. */
export interface MemberReader {
  /** Undefined for an object that neither owns others nor is owned, without a look inside. */
  read(resource: Resource, stored: Stored): Member | undefined;
}

/** A quote inside a JSON text is escaped, so these bytes are found in every object that has owners. */
const ownerReferences = Buffer.from('"ownerReferences"');

export function memberReader(resources: readonly Resource[]): MemberReader {
  const owning = new Map(
    resources
      .filter(({ kind }) => kind.ownsOthers)
      .map((resource) => [`${resource.kind.apiVersion} ${resource.kind.kind}`, resource]),
  );
  return {
    read: (resource, stored) => {
      if (!resource.kind.ownsOthers && !stored.value.includes(ownerReferences)) return undefined;
      const object = decodeStored(byteString(stored.value));
      // Every stored object has been given these.
      const { namespace, name, uid } = object.metadata as { namespace?: string; name: string; uid: string };
      const owners: Owner[] = [];
      let ownedByStrangers = false;
      for (const reference of object.metadata.ownerReferences ?? []) {
        const kind = owning.get(`${reference.apiVersion} ${reference.kind}`);
        // What lies in no namespace does not say in which its owner would be.
        if (!kind || (kind.kind.namespaced && namespace === undefined)) {
          ownedByStrangers = true;
          continue;
        }
        const ownerName = reference.name ?? '';
        owners.push({
          // Owners are in the namespace of their dependents, or in none: one that is named from elsewhere is not there.
          key: `${kind.collection.form.prefix}${kind.kind.namespaced ? `${namespace}/` : ''}${ownerName}`,
          uid: reference.uid,
          resource: kind,
          name: ownerName,
          blocks: reference.blockOwnerDeletion === true,
        });
      }
      const { key, revision } = stored;
      return { key, uid, resource, namespace, name, revision, owners, ownedByStrangers, leaving: leavingOf(object) };
    },
  };
}

export function leavingOf({ metadata: { deletionTimestamp, finalizers = [] } }: KubeObject): Leaving | undefined {
  if (deletionTimestamp === undefined) return undefined;
  if (finalizers.includes(orphanFinalizer)) return 'orphan';
  return finalizers.includes(foregroundFinalizer) ? 'foreground' : 'held by others';
}
