import { requireValue, loopOf } from '@cluster-apiserver/base';
import { badRequest, Problems, requireValid } from '@cluster-apiserver/model';
import type { ShardSelector } from '@cluster-apiserver/model/selector';
import { type Call, itemKey, type ListPage, type Revision, textOfItemKey, type View } from '@cluster-apiserver/storage';
import { type Continuation, decodeContinue, encodeContinue } from '../read/continue-token.ts';
import { beforeConversion, type ListedObject, selectConverted } from '../read/converted.ts';
import { waitUntilFresh } from '../read/wait-until-fresh.ts';
import { validateNamespace, type Resource } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { selectInSlices } from '../read/select-in-slices.ts';
import {
  countAfter,
  isWithin,
  matcherOf,
  requireAllReadable,
  type Scope,
  scopeOf,
  type Selection,
} from '../read/selection.ts';
import { withStatusErrors } from '../storage-errors.ts';
import type { CachedObject, StoredObject } from '../stored-object.ts';

export interface ListOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly limit: number | undefined;
  readonly continue: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
}

export interface ObjectList {
  readonly items: readonly ListedObject[];
  readonly revision: Revision;
  /** The token for the rest of the list; undefined if the list is complete. */
  readonly continue?: string;
  /** How many objects follow, if that is known without evaluating selectors. */
  readonly remainingItemCount?: number;
  /** The shard that the list is of. */
  readonly shards?: ShardSelector;
}

/** Implements "list" for every kind. */
export async function list(resource: Resource, options: ListOptions, call: Call): Promise<ObjectList> {
  validateListOptions(options);
  validateNamespace(options.namespace);
  const wanted = parseResourceVersion(options.resourceVersion);
  if (options.continue && typeof wanted === 'number') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  const from = options.continue ? decodeContinue(options.continue) : undefined;
  const listed = await withStatusErrors(
    () => listFrom(resource, beforeConversion(resource, options), from ?? wanted, call),
    from ? { after: from } : 'collection',
  );
  // A chunk has fewer objects than its limit if some are only known not to be selected once they are converted.
  const items = await selectConverted(resource, options, listed.items, call);
  return { ...listed, items, ...(options.shards && { shards: options.shards }) };
}

async function listFrom(
  resource: Resource,
  options: ListOptions,
  from: Continuation | Revision | 'any' | undefined,
  call: Call,
): Promise<ObjectList> {
  const { collection, kind } = resource;
  const continued = typeof from === 'object' ? from : undefined;
  const exact = continued ? continued.revision : isExactRead(options) && typeof from === 'number' ? from : undefined;
  await waitUntilFresh(collection, exact ?? (typeof from === 'object' ? undefined : from), call);
  const after = continued && scopeOf(kind, options).within + itemKey(continued.after);
  const view = exact === undefined ? collection.view() : await collection.viewAt(exact);
  return view
    ? listFromMemory(resource, view, options, after)
    : listFromHistory(resource, options, after, requireValue(exact, 'the latest state has a view'), call);
}

/** A limit without resourceVersionMatch means Exact, as in kube-apiserver. */
const isExactRead = (options: ListOptions): boolean =>
  options.resourceVersionMatch === 'Exact' || (!options.resourceVersionMatch && limitOf(options) !== undefined);

/** A chunk from memory. */
async function listFromMemory(
  resource: Resource,
  view: View<CachedObject>,
  options: ListOptions,
  after: string | undefined,
): Promise<ObjectList> {
  const { collection, kind } = resource;
  const scope = scopeOf(kind, options);
  const { viewEpoch } = collection;
  const { objects, more } = await selectInSlices(resource, view, options, after, limitOf(options));
  if (!more) return { items: objects, revision: view.revision };
  collection.retainView(view, viewEpoch);
  return {
    items: objects,
    revision: view.revision,
    ...continuationOf(scope, options, objects, view.revision, (last) => countAfter(view, scope, last)),
  };
}

const limitOf = ({ limit }: ListOptions): number | undefined => (limit !== undefined && limit > 0 ? limit : undefined);

/** How a list continues after its last object. With a selector the remaining objects are not counted. */
function continuationOf(
  { within }: Scope,
  options: ListOptions,
  objects: readonly StoredObject[],
  revision: Revision,
  remaining: (last: string) => number,
): Pick<ObjectList, 'continue' | 'remainingItemCount'> {
  const { key } = requireValue(objects.at(-1), 'a list that goes on has as many as its limit');
  return {
    continue: encodeContinue({ after: textOfItemKey(key.slice(within.length)), revision }),
    ...(!matcherOf(options) && { remainingItemCount: remaining(key) }),
  };
}

/** Selectors skip objects, so a chunk may need several pages of the store. */
const pageKeysMin = 500;

/** What is done with a page at once takes about a millisecond for so many objects. */
const pageKeysMax = 10_000;

/** How many objects are matched before other work gets a turn. */
const matchedAtOnce = 16;

/** A chunk at an old revision that memory no longer holds. */
async function listFromHistory(
  { collection, kind, clock }: Resource,
  options: ListOptions,
  start: string | undefined,
  revision: Revision,
  call: Call,
): Promise<ObjectList> {
  const scope = scopeOf(kind, options);
  const limit = limitOf(options);
  const matches = matcherOf(options);
  const turns = loopOf(clock);
  const items: StoredObject[] = [];
  let pageKeys = Math.min(Math.max(limit ?? pageKeysMax, matches ? pageKeysMin : 1), pageKeysMax);
  const readPage = (after: string | undefined): Promise<ListPage<CachedObject>> => {
    const page = collection.listFromStore({ within: scope.within, after, limit: pageKeys }, revision, call);
    page.catch(() => {}); // the error is thrown where the page is awaited, unless the list has failed before
    return page;
  };
  for (let next = readPage(start); ; ) {
    const page = await next;
    const last = page.items.at(-1)?.key;
    // A list without a limit needs all pages, so the store reads one page ahead.
    if (limit === undefined && page.remaining > 0) next = readPage(last);
    for (const [index, item] of page.items.entries()) {
      if (matches && index % matchedAtOnce === 0) await turns.schedule(() => {});
      if (!isWithin(scope, item.key)) continue;
      // Only from here on, because unreadable objects after the chunk do not matter.
      if (item.unreadable && !options.readableOnly)
        requireAllReadable(
          page.items
            .slice(index)
            .flatMap((other) => (other.unreadable && isWithin(scope, other.key) ? [other.unreadable] : [])),
        );
      if (item.unreadable || (matches && !matches(item))) continue;
      items.push(item);
      const remaining = page.items.length - 1 - index + page.remaining;
      if (items.length !== limit || remaining === 0) continue;
      return { items, revision, ...continuationOf(scope, options, items, revision, () => remaining) };
    }
    if (page.remaining === 0) return { items, revision };
    if (limit === undefined) continue;
    // The selector skips most objects, and etcd counts all further keys for each page.
    pageKeys = Math.min(2 * pageKeys, pageKeysMax);
    next = readPage(last);
  }
}

function validateListOptions(options: ListOptions): void {
  const { resourceVersion, resourceVersionMatch: match } = options;
  const problems = new Problems();
  if (options.sendInitialEvents !== undefined)
    problems.at('sendInitialEvents').forbidden('sendInitialEvents is forbidden for list');
  if (match) {
    const at = problems.at('resourceVersionMatch');
    if (!resourceVersion) at.forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (options.continue) at.forbidden('resourceVersionMatch is forbidden when continue is provided');
    if (match !== 'Exact' && match !== 'NotOlderThan') at.notSupported(match, ['Exact', 'NotOlderThan', '']);
    if (match === 'Exact' && resourceVersion === '0')
      at.forbidden('resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
  }
  requireValid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', problems);
}
