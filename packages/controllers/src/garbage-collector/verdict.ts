import type { Member, Owner } from './member.ts';
import type { Standing } from './standing.ts';

/** What becomes of a dependent: it goes, or it forgets some of its owners, or all is as it should be. */
export type Verdict =
  | { readonly type: 'delete'; readonly propagationPolicy: 'Foreground' | undefined }
  | { readonly type: 'detach'; readonly ownerUids: ReadonlySet<string> }
  | undefined;

export interface Judged {
  readonly owner: Owner;
  readonly standing: Standing;
}

export function verdictOn(member: Member, owners: readonly Judged[], hasDependents: boolean): Verdict {
  const going = member.leaving !== undefined;
  const forgotten = owners.filter(({ standing }) => standing === 'leaves behind' || (standing !== 'living' && !going));
  if (forgotten.length === 0) return undefined;
  const wanted =
    member.ownedByStrangers || owners.some(({ standing }) => standing === 'living' || standing === 'leaves behind');
  if (wanted) return { type: 'detach', ownerUids: new Set(forgotten.map(({ owner }) => owner.uid)) };
  // An owner that waits for its dependents also waits for theirs.
  const waitedFor = owners.some(({ standing }) => standing === 'takes along');
  return { type: 'delete', propagationPolicy: waitedFor && hasDependents ? 'Foreground' : undefined };
}
