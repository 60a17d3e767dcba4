import type { DefinitionNames, Finding } from '@cluster-apiserver/kinds';

/** Names that other kinds of a group have. */
export interface UsedNames {
  /** In paths and on command lines. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export const noNames: UsedNames = { resources: new Set(), kinds: new Set() };

/** The names of all of these. */
export function collectNames(all: Iterable<DefinitionNames>): UsedNames {
  const used = { resources: new Set<string>(), kinds: new Set<string>() };
  for (const { plural, singular = '', shortNames = [], kind, listKind = '' } of all) {
    for (const name of [plural, singular, ...shortNames]) used.resources.add(name);
    for (const name of [kind, listKind]) used.kinds.add(name);
  }
  return used;
}

interface AcceptedNames {
  readonly names: DefinitionNames;
  readonly finding: Finding;
}

/** Accepts the names that no other definition has; of several conflicts the last one is reported. Short names are accepted all or none. */
export function acceptNames(wanted: DefinitionNames, accepted: DefinitionNames, used: UsedNames): AcceptedNames {
  let finding: Finding = {
    type: 'NamesAccepted',
    status: 'True',
    reason: 'NoConflicts',
    message: 'no conflicts found',
  };
  const refuse = (reason: string, taken: readonly string[]): void => {
    const texts = taken.map((name) => `${JSON.stringify(name)} is already in use`);
    const message = texts.length > 1 ? `[${texts.join(', ')}]` : (texts[0] ?? '');
    finding = { type: 'NamesAccepted', status: 'False', reason, message };
  };
  const choose = (name: 'plural' | 'singular' | 'kind' | 'listKind', taken: ReadonlySet<string>, reason: string) => {
    const next = wanted[name] ?? '';
    if (next === accepted[name] || !taken.has(next)) return next;
    refuse(reason, [next]);
    return accepted[name] ?? '';
  };
  const plural = choose('plural', used.resources, 'PluralConflict');
  const singular = choose('singular', used.resources, 'SingularConflict');
  const own = new Set(accepted.shortNames);
  const taken = new Set(wanted.shortNames?.filter((name) => !own.has(name) && used.resources.has(name)));
  if (taken.size > 0) refuse('ShortNamesConflict', [...taken]);
  const shortNames = (taken.size > 0 ? accepted : wanted).shortNames ?? [];
  const kind = choose('kind', used.kinds, 'KindConflict');
  const listKind = choose('listKind', used.kinds, 'ListKindConflict');
  const { categories = [] } = wanted;
  const names = {
    plural,
    ...(singular && { singular }),
    ...(shortNames.length > 0 && { shortNames }),
    kind,
    ...(listKind && { listKind }),
    ...(categories.length > 0 && { categories }),
  };
  return { names, finding };
}
