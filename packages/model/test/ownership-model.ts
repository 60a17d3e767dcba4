/**
 * Applying and updating once more, slow and plain: an object is a flat list of places with values, and each manager
 * owns a set of places. A value of undefined is a place that is owned and holds nothing.
 */
export interface Model {
  values: Map<string, string>;
  owners: Map<string, Set<string>>;
}

export type Wanted = ReadonlyMap<string, string | undefined>;

/** Undefined, and nothing changed, when others own what would change; then the conflicts are given. */
export function applyToModel(model: Model, manager: string, wanted: Wanted, force: boolean): readonly string[] {
  const self = `Apply ${manager}`;
  const conflicts = [...model.owners].flatMap(([owner, places]) =>
    owner === self
      ? []
      : [...places]
          .filter((place) => wanted.has(place) && wanted.get(place) !== model.values.get(place))
          .map((place) => `${owner} ${place}`),
  );
  if (conflicts.length > 0 && !force) return conflicts.sort();
  for (const [owner, places] of model.owners)
    for (const place of places) if (conflicts.includes(`${owner} ${place}`)) places.delete(place);
  for (const place of model.owners.get(self) ?? []) {
    const shared = [...model.owners].some(([owner, places]) => owner !== self && places.has(place));
    if (!wanted.has(place) && !shared) model.values.delete(place);
  }
  for (const [place, value] of wanted) {
    if (value === undefined) model.values.delete(place);
    else model.values.set(place, value);
  }
  model.owners.set(self, new Set(wanted.keys()));
  return [];
}

/** Another manager writes the whole object. */
export function updateModel(model: Model, manager: string, values: ReadonlyMap<string, string>): void {
  const self = `Update ${manager}`;
  const taken = [...values].filter(([place, value]) => model.values.get(place) !== value).map(([place]) => place);
  const gone = [...model.values.keys()].filter((place) => !values.has(place));
  for (const places of model.owners.values()) for (const place of [...taken, ...gone]) places.delete(place);
  model.owners.set(self, new Set([...(model.owners.get(self) ?? []), ...taken]));
  model.values = new Map(values);
}
