import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { ownForm } from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
import type { Call, Entry, Revision, Stored } from '@cluster-apiserver/storage';

/** What is told of a kind: first everything there is, then every change; and all over again when changes were missed. */
export interface Feed {
  readonly present: (stored: Stored) => void;
  readonly gone: (key: string) => void;
  /** All that there is has been told; what is not among the keys is gone. */
  readonly complete: (keys: ReadonlySet<string>) => void;
  /** The feed begins again from a list after a pause. */
  readonly lost: (cause: unknown) => void;
}

export interface FeedOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly call: () => Call;
}

/** A list costs more than most reads, so a storage that is down is not asked for one all the time. */
const restartFirstMs = 100;
const restartMaxMs = 30_000;

/** Follows a kind until the signal aborts. */
export async function follow(
  resource: Resource,
  feed: Feed,
  { clock, random, signal, call }: FeedOptions,
): Promise<void> {
  const { prefix } = resource.collection.form;
  const pauses = backoff({ firstMs: restartFirstMs, maxMs: restartMaxMs }, random);
  while (!signal.aborted) {
    try {
      const keys = new Set<string>();
      const { revision } = await eachOf(resource, {}, call, (stored) => {
        signal.throwIfAborted();
        keys.add(stored.key);
        feed.present(stored);
      });
      signal.throwIfAborted();
      feed.complete(keys);
      for await (const { changes } of resource.store.watch(prefix, revision, signal, 'untold')) {
        pauses.reset();
        for (const { key, current } of changes) {
          if (current) feed.present(readable(resource, current));
          else feed.gone(key);
        }
      }
    } catch (cause) {
      if (!signal.aborted) feed.lost(cause);
    }
    // Ends early, by the signal, when nobody wants the feed any more.
    await sleep(clock, pauses.nextMs(), signal).catch(() => {});
  }
}

/** Small enough that a page neither takes long nor holds much memory. */
const pageKeys = 500;

/** Which objects of a kind: of one namespace or of all, as of a revision or as they are now. */
export interface Scope {
  readonly namespace?: string | undefined;
  readonly revision?: Revision;
}

/** Every object of a kind as of one revision, without all of them in memory at a time. */
export async function eachOf(
  resource: Resource,
  { namespace, revision: asked }: Scope,
  call: () => Call,
  visit: (stored: Stored) => void,
): Promise<{ readonly revision: Revision }> {
  const all = resource.collection.form.prefix;
  const prefix = namespace === undefined ? all : `${all}${namespace}/`;
  let revision = asked;
  let after: string | undefined;
  for (;;) {
    const page = await resource.store.list({ prefix, after, limit: pageKeys, revision }, call());
    for (const entry of page.entries) visit(readable(resource, entry));
    revision = page.revision;
    after = page.entries.at(-1)?.key;
    if (page.remaining === 0) return { revision };
  }
}

/** An owner that cannot be read may be there for its dependents: so nothing is decided without it. */
function readable({ kind }: Resource, entry: Entry): Stored {
  if (entry.unreadable) throw entry.unreadable;
  return { ...entry, value: ownForm(kind, entry.value) };
}
