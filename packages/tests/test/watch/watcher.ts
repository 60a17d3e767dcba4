import { type Random, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type Client, NoResponseError } from '@cluster-apiserver/testkit/api-client';
import { contentOf } from './content.ts';
import { readFrame } from './frames.ts';
import type { OpenWatch, WatchTransport } from '@cluster-apiserver/testkit/open-watch';
import type { Delivered, Ending, Listing, Opening, Segment, Stream } from './streams.ts';
import { type ApiObject, pathOf, type View } from './view.ts';

/** The repeated behavior of a watcher. */
export interface WatcherOptions {
  readonly view: View;
  /** How it starts without a known revision, or after 410. */
  readonly starts: 'with a list' | 'with the present' | 'with initial events' | 'at an old revision';
  readonly bookmarks: boolean;
  /** Reconnects elsewhere after about so many events. */
  readonly staysEvents: number;
}

export interface WatcherEnvironment {
  readonly random: Random;
  readonly wire: WatchTransport;
  /** A client of any replica, for lists. */
  client(): Client;
  /** The URL for the next watch. */
  url(): string;
  /** A revision that certainly exists. */
  latestRevision(): number;
}

export interface Watcher {
  readonly stream: Stream;
  readonly deliveredEvents: number;
  /** All events up to this revision were received. */
  readonly revision: number;
  stop(): Promise<void>;
}

/** Delay before it retries a failed watch. */
const retryMs = 50;
/** Maximum age of an old revision, about the revisions between two compactions. */
const oldRevisions = 60;

export function startWatcher(watcher: string, habit: WatcherOptions, surroundings: WatcherEnvironment): Watcher {
  const { random, latestRevision: newest } = surroundings;
  const lists: Listing[] = [];
  const segments: Segment[] = [];
  const stopping = new AbortController();
  let deliveredEvents = 0;
  let known: number | undefined;
  let current: OpenWatch | undefined;
  let revision = 0;

  /** The next start; undefined if a required list failed. */
  const opening = async (): Promise<Opening | undefined> => {
    if (known !== undefined && habit.starts !== 'at an old revision') return { from: 'a revision', revision: known };
    const notBefore = newest();
    switch (habit.starts) {
      case 'with the present':
        return { from: 'the present', notBefore };
      case 'with initial events':
        return { from: 'initial events', notBefore };
      case 'at an old revision':
        return { from: 'a revision', revision: Math.max(1, notBefore - random.below(oldRevisions)) };
      case 'with a list': {
        const list = await readList(surroundings.client(), habit.view, notBefore);
        if (!list) return undefined;
        lists.push(list);
        return 'invalid' in list ? undefined : { from: 'a revision', revision: list.revision };
      }
    }
  };

  const life = (async () => {
    while (!stopping.signal.aborted) {
      const from = await opening();
      const ending = from && (await runWatch(from));
      if (ending?.how === 'expired') known = undefined;
      if (ending?.how !== 'left') await sleep(clock, retryMs);
    }
  })();

  function runWatch(from: Opening): Promise<Ending> {
    const events: Delivered[] = [];
    const stays = 1 + random.below(habit.staysEvents * 2);
    let ending: Ending = { how: 'cut' };
    segments.push({
      opening: from,
      bookmarks: habit.bookmarks,
      events,
      get ending() {
        return ending;
      },
    });
    const leave = (): void => {
      ending = { how: 'left' };
      current?.abort();
    };
    revision = from.from === 'a revision' ? from.revision : from.notBefore;
    // Revisions before the bookmark, or of initial events without one, cannot be resumed from.
    let resumable = from.from === 'a revision';
    known = resumable ? revision : undefined;
    const receive = (event: Delivered): void => {
      events.push(event);
      deliveredEvents += 1;
      if (event.initialEnds > 0) resumable = true;
      revision = Math.max(revision, event.revision);
      if (resumable) known = revision;
      if (events.length === stays) leave();
    };
    return new Promise((resolve) => {
      let code = 0;
      current = surroundings.wire.open(surroundings.url(), pathOf(habit.view, queryOf(from, habit)), {
        status: (status, retryAfter) => {
          code = status;
          if (status === 410) ending = expired();
          else if ((status === 429 || status === 503) && retryAfter) ending = { how: 'put off' };
          else if (status !== 200) ending = { how: 'invalid', what: `status ${status}` };
        },
        line: (text) => {
          if (ending.how !== 'cut' || code !== 200) return;
          const frame = readFrame(text);
          if (!('error' in frame)) receive(frame);
          else if (frame.error === 410) ending = expired(frame.text);
          else ending = { how: 'invalid', what: frame.text };
        },
        closed: () => resolve(ending),
      });
      if (stopping.signal.aborted) leave();
    });
  }

  return {
    stream: { watcher, view: habit.view, lists, segments },
    get deliveredEvents() {
      return deliveredEvents;
    },
    get revision() {
      return revision;
    },
    stop: async () => {
      stopping.abort();
      current?.abort();
      await life;
    },
  };
}

const expired = (what?: string): Ending => ({
  how: 'expired',
  atMs: clock.monotonicMs(),
  ...(what !== undefined && { what }),
});

function queryOf(from: Opening, { bookmarks }: WatcherOptions): Record<string, string> {
  const query = { watch: 'true', ...(bookmarks && { allowWatchBookmarks: 'true' }) };
  switch (from.from) {
    case 'a revision':
      return { ...query, resourceVersion: `${from.revision}` };
    case 'the present':
      return query;
    case 'initial events':
      return { ...query, sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
  }
}

interface ListBody {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly (ApiObject & { readonly metadata: { readonly resourceVersion: string } })[];
}

/** Returns undefined if the replica is down or has no store at present. */
async function readList(client: Client, view: View, notBefore: number): Promise<Listing | undefined> {
  try {
    const { status, retryAfter, body } = await client.request('GET', pathOf(view));
    if (status === 503 && retryAfter) return undefined;
    if (status !== 200) return { invalid: `${status} ${body}` };
    const { metadata, items } = JSON.parse(body) as ListBody;
    const contents = items.map((item): [string, string] => [
      `${item.metadata.namespace}/${item.metadata.name}`,
      contentOf(withType(view, item), Number(item.metadata.resourceVersion)),
    ]);
    return { notBefore, revision: Number(metadata.resourceVersion), items: new Map(contents) };
  } catch (error) {
    if (error instanceof NoResponseError) return undefined;
    throw error;
  }
}

/** Adds kind and apiVersion, which list items lack. */
const withType = ({ resource: { kind, apiVersion } }: View, item: ApiObject): ApiObject => ({
  kind,
  apiVersion,
  ...item,
});
