import type { View } from './view.ts';

/**
 * Everything that watchers received, recorded during a test and checked afterwards. Revisions are resourceVersions, and
 * contents are digests, so that a million events are a million references to the same few objects.
 */
export interface Stream {
  readonly watcher: string;
  readonly view: View;
  readonly lists: readonly Listing[];
  readonly segments: readonly Segment[];
}

export type Listing = Listed | { readonly invalid: string };

/** One list, as the start of a watch. */
interface Listed {
  /** A revision that existed before the request: without a resourceVersion, nothing older may be returned. */
  readonly notBefore: number;
  readonly revision: number;
  /** The content of each object by `namespace/name`. */
  readonly items: ReadonlyMap<string, string>;
}

/** One watch request with its response. */
export interface Segment {
  readonly opening: Opening;
  /** Whether it requested bookmarks. */
  readonly bookmarks: boolean;
  readonly events: readonly Delivered[];
  readonly ending: Ending;
}

export type Opening =
  /** Changes after a revision. */
  | { readonly from: 'a revision'; readonly revision: number }
  /** The current objects as ADDED events, then changes. */
  | { readonly from: 'the present'; readonly notBefore: number }
  /** The same with a bookmark between the initial events and the changes. */
  | { readonly from: 'initial events'; readonly notBefore: number };

export interface Delivered {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  /** `namespace/name`; unused for bookmarks. */
  readonly key: string;
  readonly revision: number;
  readonly content: string;
  /** For bookmarks: the number of annotations that mark the end of the initial events. */
  readonly initialEnds: number;
}

/** Annotations that mark the end of the initial events: upstream's and the specification's. */
export const initialEndNames = ['k8s.io/initial-events-end', 'platform.io/initial-events-end'] as const;

export type Ending =
  /** Ended by the client. */
  | { readonly how: 'left' }
  /** Ended by the server or a broken connection. */
  | { readonly how: 'cut' }
  /** 410, as a response status or as an error event, whose text is kept. */
  | { readonly how: 'expired'; readonly atMs: number; readonly what?: string }
  /** 429 or 503 with Retry-After: nothing is lost, and the watch can be retried. */
  | { readonly how: 'put off' }
  /** A response that no request justifies. */
  | { readonly how: 'invalid'; readonly what: string };
