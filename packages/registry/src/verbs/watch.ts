import { loopOf, throwIfAborted } from '@cluster-apiserver/base';
import { Problems, requireValid, StatusError } from '@cluster-apiserver/model';
import { type Call, RevisionCompactedError } from '@cluster-apiserver/storage';
import { beforeConversion } from '../read/converted.ts';
import { requireReadable, scopeOf, type Selection } from '../read/selection.ts';
import { waitUntilFresh } from '../read/wait-until-fresh.ts';
import { type Resource, validateNamespace } from '../resource.ts';
import { parseResourceVersion } from '../resource-version.ts';
import { toStatusError, withStatusErrors } from '../storage-errors.ts';
import type { Channel } from '../watch/channels.ts';
import { InitialEvents } from '../watch/initial-events.ts';
import { Watcher, type WatchReader } from '../watch/watcher.ts';

export interface WatchOptions extends Selection {
  readonly resourceVersion: string | undefined;
  readonly resourceVersionMatch: string | undefined;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly continue: string | undefined;
}

/**
 * Implements "watch" for every kind. Without a resourceVersion, or if the client requests it, the watch begins with the
 * current state as ADDED events.
 */
export function watch(resource: Resource, options: WatchOptions, call: Call): Promise<WatchReader> {
  return withStatusErrors(async () => {
    validateWatchOptions(options);
    validateNamespace(options.namespace);
    const { collection, channels } = resource;
    const from = parseResourceVersion(options.resourceVersion);
    const { sendInitialEvents, allowWatchBookmarks } = options;
    collection.requireServed();
    const channel = (): Channel => channels.subscribe(beforeConversion(resource, options));
    if (typeof from === 'number' && !sendInitialEvents) {
      try {
        await collection.requirePresentHistory(from, call);
      } catch (error) {
        if (error instanceof RevisionCompactedError) return failedWatch(toStatusError(error, { since: from }));
        throw error;
      }
      return new Watcher(resource, channel(), from);
    }
    try {
      await waitUntilFresh(collection, from, call);
    } catch (error) {
      // An error response would look to clients like a server that does not support initial events.
      if (isTimeout(error) || error instanceof RevisionCompactedError) return failedWatch(toStatusError(error));
      throw error;
    }
    // Hundreds of watches that waited for the same revision would all begin in one turn.
    return loopOf(resource.clock).runOrSchedule(() => {
      throwIfAborted(call);
      const view = collection.view();
      if (sendInitialEvents === false) return new Watcher(resource, channel(), view.revision);
      // With bookmarks, kube-apiserver requests initial events by default, too.
      const endsWithBookmark = sendInitialEvents || allowWatchBookmarks;
      requireReadable(view, scopeOf(resource.kind, options));
      const subscribed = channel();
      return new Watcher(
        resource,
        subscribed,
        view.revision,
        new InitialEvents(resource, subscribed, view, endsWithBookmark),
      );
    });
  }, 'collection');
}

const isTimeout = (error: unknown): boolean => error instanceof StatusError && error.reason === 'Timeout';

function failedWatch(error: unknown): WatchReader {
  return {
    take: () => {
      throw error;
    },
    wait: () => {},
    end: undefined,
    reached: undefined,
    close: () => {},
  };
}

function validateWatchOptions(options: WatchOptions): void {
  const { resourceVersion, resourceVersionMatch: match, sendInitialEvents, continue: token } = options;
  const problems = new Problems();
  const at = problems.at('resourceVersionMatch');
  const supported = match === 'NotOlderThan';
  if (sendInitialEvents !== undefined && !supported)
    at.forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  if (match && sendInitialEvents === undefined)
    at.forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided');
  if (match && !supported) at.notSupported(match, ['NotOlderThan']);
  // As in kube-apiserver, where a watch of the current state has a match by default. Another one ignores the token.
  const isCurrent = !resourceVersion || resourceVersion === '0';
  if (token && (match || isCurrent)) at.forbidden('resourceVersionMatch is forbidden when continue is provided');
  requireValid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', problems);
}
