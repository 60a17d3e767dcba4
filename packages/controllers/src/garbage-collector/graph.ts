import type { Identity, Member } from './member.ts';

/** Who depends on whom, as far as we know. It only says where to look: nothing is written because of it alone. */
export interface Graph {
  at(key: string): Member | undefined;
  /** The member that is meant, and not another one of the same name. */
  get(identity: Identity): Member | undefined;
  readonly size: number;
  members(): Iterable<Member>;
  /** The owners that are there. */
  ownersOf(member: Member): readonly Member[];
  dependentsOf(owner: Identity): IterableIterator<Member>;
  /** Answers what was there before. */
  put(member: Member): Member | undefined;
  remove(key: string): Member | undefined;
}

export function createGraph(): Graph {
  const members = new Map<string, Member>();
  /** From the key of an owner to the keys of those that name it, whichever uid they mean. */
  const dependents = new Map<string, Set<string>>();

  const remove = (key: string): Member | undefined => {
    const member = members.get(key);
    members.delete(key);
    for (const owner of member?.owners ?? []) {
      const keys = dependents.get(owner.key);
      keys?.delete(key);
      if (keys?.size === 0) dependents.delete(owner.key);
    }
    return member;
  };
  const get = ({ key, uid }: Identity): Member | undefined => {
    const member = members.get(key);
    return member?.uid === uid ? member : undefined;
  };
  return {
    at: (key) => members.get(key),
    get,
    get size() {
      return members.size;
    },
    members: () => members.values(),
    ownersOf: ({ owners }) => owners.map(get).filter((owner) => owner !== undefined),
    dependentsOf: function* ({ key, uid }) {
      for (const dependentKey of dependents.get(key) ?? []) {
        const dependent = members.get(dependentKey);
        if (dependent?.owners.some((owner) => owner.key === key && owner.uid === uid)) yield dependent;
      }
    },
    put: (member) => {
      const before = remove(member.key);
      members.set(member.key, member);
      for (const owner of member.owners) {
        const keys = dependents.get(owner.key);
        if (keys) keys.add(member.key);
        else dependents.set(owner.key, new Set([member.key]));
      }
      return before;
    },
    remove,
  };
}
