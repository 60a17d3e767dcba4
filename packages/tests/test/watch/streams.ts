import type { View } from './view.ts';

/**
 * What watchers were told, written down while it happens and judged when all is over. Revisions are the resourceVersions
 * that were read, and contents are digests, so that a million events are a million pointers to the same few objects.
 */
export interface Stream {
  readonly watcher: string;
  readonly view: View;
  readonly lists: readonly Listing[];
  readonly segments: readonly Segment[];
}

export type Listing = Listed | { readonly invalid: string };

/** One list, as whoever watches after it needs it. */
interface Listed {
  /** A revision that was there before anybody asked: without a resourceVersion nothing older may be told. */
  readonly notBefore: number;
  readonly revision: number;
  /** The content of each object there was, by `namespace/name`. */
  readonly items: ReadonlyMap<string, string>;
}

/** One answer to one watch. */
export interface Segment {
  readonly opening: Opening;
  /** Whether it asked for bookmarks. */
  readonly bookmarks: boolean;
  readonly events: readonly Delivered[];
  readonly ending: Ending;
}

export type Opening =
  /** Changes after a revision. */
  | { readonly from: 'a revision'; readonly revision: number }
  /** What there is, as objects added, and the changes after that. */
  | { readonly from: 'the present'; readonly notBefore: number }
  /** The same with a bookmark in between, which says where the one ends and the other begins. */
  | { readonly from: 'initial events'; readonly notBefore: number };

export interface Delivered {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** `namespace/name`; of no meaning in a bookmark. */
  readonly key: string;
  readonly revision: number;
  readonly content: string;
  /** In a bookmark: under how many of its names it says that the initial events end here. */
  readonly initialEnds: number;
}

/** The end of the initial events is said under the name of upstream and under that of the specification. */
export const initialEndNames = ['k8s.io/initial-events-end', 'platform.io/initial-events-end'] as const;

export type Ending =
  /** By us, while the server would have gone on. */
  | { readonly how: 'left' }
  /** The server ended it, or the connection broke. */
  | { readonly how: 'cut' }
  /** 410, as a status or as an event. */
  | { readonly how: 'expired'; readonly atMs: number }
  /** 429 or 503 with the time to wait: nothing is lost, whoever comes again goes on where it was. */
  | { readonly how: 'put off' }
  /** What nothing in the request justifies. */
  | { readonly how: 'invalid'; readonly what: string };
