import { shownTarget } from '@cluster-apiserver/audit';
import { latencyParts } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import type { EndedRequest, RequestLog } from '@cluster-apiserver/pipeline';
import type { Log, LogFields } from '@cluster-apiserver/telemetry';

/** The verbosity that logs every request. */
const everyRequest = 2;

/** Logs every request at `--v=2`, and slow requests at any verbosity. See docs/logs.md. */
export function createRequestLog(all: Log): RequestLog {
  const log = all.withName('http');
  const logsAll = log.verbosity >= everyRequest;
  return {
    logsAll,
    ended: (request) => {
      const seen = capture(request);
      if (logsAll) log.debug(everyRequest, 'HTTP', isLong(seen) ? toFields(seen) : () => toFields(seen));
      if (request.slow === 'request' && !isExplained(seen)) log.info('slow request', toFields(seen));
      if (request.slow === 'response') log.info('slow response', toFields(seen));
    },
  };
}

/**
 * A line that is formatted later holds the target, with what was parsed of it, and the user agent. If no reader takes the log,
 * thousands of lines wait, so long ones are formatted at once.
 */
const heldCharactersMax = 2_048;

const isLong = ({ target, userAgent = '' }: ReturnType<typeof capture>): boolean =>
  target.length + userAgent.length > heldCharactersMax;

/** What a failing check of a probe or an unavailable backend takes: both have lines of their own. */
const isExplained = ({ target, status }: ReturnType<typeof capture>): boolean =>
  status === httpUnavailable || /^\/(?:readyz|livez|healthz)(?:[/?]|$)/.test(target);

const httpUnavailable = 503;

/** Logs bytes that are no request, with what is known of them. The connection ends, so a client pays for each line. */
export function createRefusalLog(all: Log): (refusal: StatusError, remoteAddress: string) => void {
  const log = all.withName('http');
  return ({ code, message }, remoteAddress) =>
    log.debug(everyRequest, 'HTTP', { srcIP: remoteAddress, resp: code, err: message });
}

/** Captures what the line requires, so that the socket, headers and body can be freed before it is formatted. */
const capture = ({ context, status, end, readyMs, totalMs }: EndedRequest) => ({
  method: context.request.method,
  target: context.request.target,
  userAgent: context.request.header('user-agent'),
  remoteAddress: context.request.remoteAddress,
  latency: context.latency,
  info: context.info,
  auditId: context.auditId,
  user: context.user?.name,
  impersonator: context.impersonator?.name,
  status,
  end,
  watchEnd: context.watchEnd,
  readyMs,
  totalMs,
});

/** Field names of kube-apiserver's request log where it has them. Latency parts of zero are omitted. */
function toFields(seen: ReturnType<typeof capture>): LogFields {
  const { info, latency, end, readyMs, totalMs } = seen;
  const resource = info?.resource;
  const fields: { [name: string]: string | number | boolean | undefined } = {
    verb: info?.verb || seen.method.toLowerCase(),
    URI: shownTarget(seen.target),
    latency: formatMilliseconds(totalMs),
    userAgent: seen.userAgent,
    'audit-ID': seen.auditId,
    srcIP: seen.remoteAddress,
    user: seen.user,
    impersonator: seen.impersonator,
    resource: resource && resourceName(resource),
    resp: seen.status,
    bytes: end.bodyBytes,
    end: seen.watchEnd,
    aborted: end.outcome === 'aborted' ? true : undefined,
  };
  let waitedMs = 0;
  for (const part of latencyParts) {
    const partMs = latency.totalMs(part);
    waitedMs += partMs;
    if (partMs > 0) fields[part] = formatMilliseconds(partMs);
  }
  fields['other'] = formatMilliseconds(readyMs - waitedMs);
  // A watch sends nothing most of its life.
  if (seen.watchEnd === undefined) fields['sending'] = formatMilliseconds(totalMs - readyMs);
  return fields;
}

/** In the form of RBAC and `kubectl`, such as `deployments.apps` or `pods/status`. */
const resourceName = ({
  plural,
  group,
  subresource,
}: {
  readonly plural: string;
  readonly group: string;
  readonly subresource: string | undefined;
}): string => `${plural}${group && `.${group}`}${subresource === undefined ? '' : `/${subresource}`}`;

const microsecondsPerMillisecond = 1000;

/** `1.234ms`, which Go and Loki parse as a duration; undefined below a microsecond. */
function formatMilliseconds(value: number): string | undefined {
  const microseconds = Math.round(value * microsecondsPerMillisecond);
  if (microseconds <= 0) return undefined;
  const whole = Math.floor(microseconds / microsecondsPerMillisecond);
  return `${whole}.${thousandths[microseconds % microsecondsPerMillisecond]}ms`;
}

const thousandths: readonly string[] = Array.from({ length: microsecondsPerMillisecond }, (_, count) =>
  String(count).padStart(3, '0'),
);
