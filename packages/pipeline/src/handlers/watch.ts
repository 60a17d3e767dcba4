import type { Clock, Random } from '@cluster-apiserver/base';
import { badRequest } from '@cluster-apiserver/model';
import type { FieldSelector } from '@cluster-apiserver/model/selector';
import { convertedMatcher, type Resource, type Selection, watch } from '@cluster-apiserver/registry';
import { type Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateWatch } from '../encoding/negotiate.ts';
import { createFrameCache } from '../encoding/watch-frames.ts';
import { readListParameters } from '../query-parameters.ts';
import { readBoolean, type RequestInfo } from '../request-info.ts';
import type { ReportFault } from '../stages/answer.ts';
import { warningHeaders } from '../warnings.ts';
import type { OpenWatches } from './open-watches.ts';
import { EventStream } from './event-stream.ts';
import type { Watched, WatchMeasures } from './watch-measures.ts';

export interface WatchLimits {
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The minimum duration of a watch without timeoutSeconds. The maximum is twice as long, so that watches do not all
   * end together.
   */
  readonly minRequestTimeoutMs: number;
  readonly openWatches: OpenWatches;
  readonly measures: WatchMeasures;
  /** Reports an internal error that ended a watch. */
  readonly report: ReportFault;
}

/**
 * The maximum of timeoutSeconds. Credentials and authorization are checked when a watch begins, so it must begin again
 * at some point; kube-apiserver has no such limit.
 */
const durationMaxMs = 24 * 60 * 60 * 1000;

export const watchHandler = (resource: Resource, limits: WatchLimits): Handler<AuthenticatedContext> => {
  const framesIn = createFrameCache(resource);
  return async (context) => {
    const { isWebSocket } = context.request;
    const format = negotiateWatch(context, resource.served);
    const { query, resource: target } = context.info;
    const options = readListParameters(resource, context);
    const frames = framesIn(format, isWebSocket ? 'messages' : 'stream', convertedMatcher(resource, options));
    const allowWatchBookmarks = readBoolean(query, 'allowWatchBookmarks') ?? false;
    requireSameName(target?.name, options.fields);
    const counted = limits.openWatches.acquire(context.user, heldBytes(options, context.request.target));
    const measures = limits.measures.begin(describeWatch(resource, context.info));
    context.request.onEnd(() => {
      counted.release();
      measures.end(context.watchEnd);
    });
    const watching = await watch(resource, { ...options, name: target?.name, allowWatchBookmarks }, context.call);
    const streamOptions = {
      clock: limits.clock,
      durationMs: durationMs(options.timeoutSeconds, limits),
      bookmarks: allowWatchBookmarks,
      openWatches: limits.openWatches,
      counted,
      measures,
      context,
      reportInternalError: (error: unknown) => limits.report(error, context),
      onInitialEventsSent: beginInitialEventsSpan(context),
    };
    return {
      status: isWebSocket ? 101 : 200,
      headers: {
        'audit-id': context.auditId,
        'cache-control': 'no-cache, private',
        'content-type': frames.contentType,
        ...(context.warnings.size > 0 && { warning: warningHeaders(context.warnings) }),
      },
      stream: (sink) => new EventStream(watching, sink, frames, streamOptions).run(),
    };
  };
};

/** The trace of a watch ends after its initial events, since a watch may last for hours. */
function beginInitialEventsSpan({ request, call, trace }: AuthenticatedContext): (() => void) | undefined {
  const span = call.trace?.child('initial events');
  if (!trace || !span) return undefined;
  const end = (): void => {
    span.end();
    trace.end();
  };
  request.onEnd(end);
  return end;
}

/** About what a watch keeps in memory until it ends because of its selectors; measured. */
function heldBytes({ labels, fields }: Selection, target: string): number {
  const values = labels?.requirements.reduce((sum, requirement) => sum + requirement.values.length, 0) ?? 0;
  return (
    characterBytes * target.length +
    labelRequirementBytes * (labels?.requirements.length ?? 0) +
    valueBytes * values +
    fieldRequirementBytes * (fields?.terms.length ?? 0)
  );
}

/** The target as it was received, and what was parsed of it. */
const characterBytes = 2;
const labelRequirementBytes = 320;
const valueBytes = 80;
const fieldRequirementBytes = 160;

const describeWatch = ({ served: { group, version, plural } }: Resource, { resource }: RequestInfo): Watched => ({
  group,
  version,
  resource: plural,
  scope: resource?.name !== undefined ? 'resource' : resource?.isInNamespace ? 'namespace' : 'cluster',
});

/**
 * A watch path with a name selects one object. As in kube-apiserver, a selector has to match what the path says of it: the
 * name and no other field.
 */
function requireSameName(name: string | undefined, fields: FieldSelector | undefined): void {
  if (name === undefined || !fields) return;
  const matches = fields.terms.every(
    ({ field, equal, value }) => equal === (value === (field === 'metadata.name' ? name : '')),
  );
  if (!matches) throw badRequest("fieldSelector metadata.name doesn't match requested name");
}

/** A negative timeoutSeconds ends the watch at once and zero means none, as in kube-apiserver. */
const durationMs = (timeoutSeconds: number | undefined, { minRequestTimeoutMs, random }: WatchLimits): number =>
  timeoutSeconds
    ? Math.min(Math.max(timeoutSeconds, 0) * 1000, durationMaxMs)
    : minRequestTimeoutMs + random.below(minRequestTimeoutMs);
