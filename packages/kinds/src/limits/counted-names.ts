/** Counted under their names of before `count/…`, too. */
const aliased: ReadonlySet<string> = new Set(['configmaps', 'secrets', 'resourcequotas']);

/** Nothing counts them, so that a full namespace can still report what happens in it. */
const uncounted: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io']);

/** The names under which quotas count the objects of a resource. */
export function countedNames({
  group,
  plural,
}: {
  readonly group: string;
  readonly plural: string;
}): readonly string[] {
  const name = group === '' ? plural : `${plural}.${group}`;
  if (uncounted.has(name)) return [];
  return aliased.has(name) ? [name, `count/${name}`] : [`count/${name}`];
}
