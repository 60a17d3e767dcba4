import { requireValue, type Loop, loopOf } from '@cluster-apiserver/base';
import type { SortedSet, View } from '@cluster-apiserver/storage';
import type { Resource } from '../resource.ts';
import {
  candidatesOf,
  countAfter,
  endOfPart,
  isWithin,
  matcherOf,
  requireReadable,
  type Scope,
  type Selected,
  type Selection,
  scopeOf,
  startOf,
} from './selection.ts';
import type { CachedObject, StoredObject } from '../stored-object.ts';

/** Without a selector, this many objects are taken in one step: most lists are shorter. */
const unselectedMax = 1000;

/**
 * Selects objects of a view in slices, in turns with other long work: a selector over 100,000 objects would block the
 * event loop. The view is immutable. Throws CorruptValueError if some of its objects are unreadable.
 */
export async function selectInSlices(
  { kind, clock }: Pick<Resource, 'kind' | 'clock'>,
  view: View<CachedObject>,
  selection: Selection,
  after: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): Promise<Selected> {
  const scope = scopeOf(kind, selection);
  const withEnd = ({ objects }: Part): Selected => ({ objects, more: goesOn(view, scope, objects, limit) });
  if (selection.readableOnly) return withEnd(await selectReadable({ kind, clock }, view, selection, after, limit));
  // Where one part follows the other, only this one has to be whole, and where it ends is not known yet.
  const isRest = limit === Number.POSITIVE_INFINITY;
  if (isRest) requireReadable(view, scope, { after, upTo: undefined });
  const selected = withEnd(await selectReadable({ kind, clock }, view, selection, after, limit));
  if (!isRest) requireReadable(view, scope, { after, upTo: endOfPart(selected) });
  return selected;
}

type Part = Pick<Selected, 'objects'>;

/** As in kube-apiserver, a full chunk is followed by another one if any object follows, selected or not. */
function goesOn(view: View<CachedObject>, scope: Scope, objects: readonly StoredObject[], limit: number): boolean {
  const last = objects.length === limit && scope.key === undefined ? objects.at(-1) : undefined;
  return last !== undefined && countAfter(view, scope, last.key) > 0;
}

async function selectReadable(
  { kind, clock }: Pick<Resource, 'kind' | 'clock'>,
  view: View<CachedObject>,
  selection: Selection,
  after: string | undefined,
  limit: number,
): Promise<Part> {
  const scope = scopeOf(kind, selection);
  const matches = matcherOf(selection);
  const items = candidatesOf(view, kind, selection);
  const turns = loopOf(clock);
  const walk = new SelectionScan(items, scope, matches, startOf(scope, after), limit);
  if (matches) return walk.finish(turns);
  const isWhole = after === undefined && limit === Number.POSITIVE_INFINITY;
  const known = isWhole ? sharedSelectionsOf(items).get(scope.within) : undefined;
  if (known) {
    const selected = await known;
    // The lists that waited for it continue one after the other, and not in one turn.
    return turns.runOrSchedule(() => selected);
  }
  // Hundreds of lists that waited for the same revision become ready in one moment.
  await turns.runOrSchedule(() => walk.visit((visited) => visited === unselectedMax));
  if (walk.isOver) return walk;
  return isWhole ? shareSelection(items, scope.within, () => walk.finish(turns)) : walk.finish(turns);
}

/** A selection that can be interrupted and continued. */
class SelectionScan implements Part {
  readonly objects: StoredObject[] = [];
  readonly #items: SortedSet<CachedObject>;
  readonly #scope: Scope;
  readonly #matches: ((object: StoredObject) => boolean) | undefined;
  readonly #limit: number;
  #next: string | undefined;

  constructor(
    items: SortedSet<CachedObject>,
    scope: Scope,
    matches: ((object: StoredObject) => boolean) | undefined,
    start: string,
    limit: number,
  ) {
    this.#items = items;
    this.#scope = scope;
    this.#matches = matches;
    this.#next = start;
    this.#limit = limit;
  }

  get isOver(): boolean {
    return this.#next === undefined;
  }

  visit(isOver: (visited: number) => boolean): void {
    const from = this.#next;
    if (from === undefined) return;
    this.#next = undefined;
    let visited = 0;
    this.#items.visitRuns(from, (items, start) => {
      const last = requireValue(items.at(-1), 'a run has items');
      // The keys of a scope follow one another.
      const isWhole = isWithin(this.#scope, last.key);
      for (let at = start; at < items.length; at++) {
        const item = requireValue(items[at]);
        if (!isWhole && !isWithin(this.#scope, item.key)) return false;
        if (isOver(visited++)) {
          this.#next = item.key;
          return false;
        }
        if (!this.#take(item)) return false;
      }
      return true;
    });
  }

  /** Returns whether more are wanted. */
  #take(item: CachedObject): boolean {
    if (item.unreadable || (this.#matches && !this.#matches(item))) return true;
    return this.objects.push(item) < this.#limit;
  }

  async finish(turns: Loop): Promise<Part> {
    // The first of a slice is always looked at, however late it is.
    while (!this.isOver) await turns.schedule((isOver) => this.visit((visited) => visited > 0 && isOver()));
    return this;
  }
}

/**
 * Long lists of the same objects share one selection, by the prefix of their keys. Otherwise a client that sends
 * thousands of requests and reads no response would make the process hold as many arrays.
 */
const shared = new WeakMap<SortedSet<CachedObject>, Map<string, Promise<Part>>>();

/** For each state of a kind: all of it, and a few large namespaces. */
const sharedMax = 4;

const none: ReadonlyMap<string, Promise<Part>> = new Map();
const sharedSelectionsOf = (items: SortedSet<CachedObject>): ReadonlyMap<string, Promise<Part>> =>
  shared.get(items) ?? none;

function shareSelection(items: SortedSet<CachedObject>, within: string, select: () => Promise<Part>): Promise<Part> {
  const known = sharedSelectionsOf(items).get(within);
  // Another one has begun meanwhile.
  if (known) return known;
  const ofItems = shared.get(items) ?? new Map<string, Promise<Part>>();
  const selected = select();
  ofItems.set(within, selected);
  for (const oldest of ofItems.keys()) {
    if (ofItems.size <= sharedMax) break;
    ofItems.delete(oldest);
  }
  shared.set(items, ofItems);
  return selected;
}
