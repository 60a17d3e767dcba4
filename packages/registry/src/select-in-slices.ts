import { turnsOf } from '@cluster-apiserver/base';
import type { View } from '@cluster-apiserver/storage';
import type { Resource } from './resource.ts';
import {
  candidates,
  isWithin,
  matcherOf,
  requireReadable,
  type Selected,
  type Selection,
  scopeOf,
  startOf,
} from './selection.ts';
import type { Cached, StoredObject } from './stored-object.ts';

/** As many are taken at once where nobody has to look at each: most lists are shorter. */
const unselectedMax = 1000;

/**
 * The same as `select`, in turns with other long work: a selector over a hundred thousand objects takes longer than
 * others should wait. The view stays as it is meanwhile. Throws CorruptValueError when some of it is unreadable.
 */
export async function selectInSlices(
  { kind, clock }: Pick<Resource, 'kind' | 'clock'>,
  view: View<Cached>,
  selection: Selection,
  after: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): Promise<Selected> {
  const scope = scopeOf(selection);
  requireReadable(view, scope);
  const matches = matcherOf(selection);
  const items = candidates(view, kind, selection);
  const objects: StoredObject[] = [];
  let more = false;
  let next: string | undefined = startOf(scope, after);
  const visit = (isOver: (visited: number) => boolean): void => {
    const from = next as string; // nobody asks again after the end
    let visited = 0;
    next = undefined;
    items.visit(from, (item) => {
      if (!isWithin(scope, item.key)) return false;
      if (isOver(visited++)) {
        next = item.key;
        return false;
      }
      if (item.unreadable || (matches && !matches(item))) return true;
      more = objects.length === limit;
      if (!more) objects.push(item);
      return !more;
    });
  };
  const turns = turnsOf(clock);
  // Hundreds of lists that waited for the same revision become ready in one moment.
  if (!matches) await turns.takeNow(() => visit((visited) => visited === unselectedMax));
  // The first of a slice is always looked at, however late it is.
  while (next !== undefined) await turns.take((isOver) => visit((visited) => visited > 0 && isOver()));
  return { objects, more };
}
