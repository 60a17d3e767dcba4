import { latencyParts } from '@cluster-apiserver/base';
import type { EndedRequest, RequestLog } from '@cluster-apiserver/pipeline';
import type { Log } from '@cluster-apiserver/telemetry';
import { loggedTarget } from './logged-target.ts';

/** The verbosity from which on each request is logged. */
const everyRequest = 2;

/** One line for each request at `--v=2`, and one for each that was slow at any verbosity. See docs/logs.md. */
export function openRequestLog(all: Log): RequestLog {
  const log = all.withName('http');
  const logsAll = log.verbosity >= everyRequest;
  return {
    logsAll,
    ended: (request) => {
      const fields = fieldsOf(request);
      if (logsAll) log.debug(everyRequest, 'HTTP', fields);
      if (request.slow === 'request') log.info('slow request', fields);
      if (request.slow === 'response') log.info('slow response', fields);
    },
  };
}

/** The names of kube-apiserver's request log where it has them. A part that was not waited for is left out. */
function fieldsOf({ facts, status, end, readyMs, totalMs }: EndedRequest) {
  const { request, latency, info, auditId, user, impersonator } = facts;
  const resource = info?.resource;
  let waitedMs = 0;
  const waits: { [part in (typeof latencyParts)[number]]?: string | undefined } = {};
  for (const part of latencyParts) {
    const partMs = latency.totalMs(part);
    waitedMs += partMs;
    waits[part] = milliseconds(partMs);
  }
  return {
    verb: info?.verb || request.method.toLowerCase(),
    URI: loggedTarget(request.target),
    latency: milliseconds(totalMs),
    userAgent: request.header('user-agent'),
    'audit-ID': auditId,
    srcIP: request.remoteAddress,
    user: user?.name,
    impersonator: impersonator?.name,
    resource: resource && resourceName(resource),
    resp: status,
    bytes: end.bodyBytes,
    aborted: end.outcome === 'aborted' ? true : undefined,
    ...waits,
    other: milliseconds(readyMs - waitedMs),
    sending: milliseconds(totalMs - readyMs),
  };
}

/** As RBAC and `kubectl` write it, such as `deployments.apps` or `pods/status`. */
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

/** `1.234ms`, which Go and Loki read as a duration; undefined for less than a microsecond. */
function milliseconds(value: number): string | undefined {
  const microseconds = Math.round(value * microsecondsPerMillisecond);
  if (microseconds <= 0) return undefined;
  const whole = Math.floor(microseconds / microsecondsPerMillisecond);
  return `${whole}.${thousandths[microseconds % microsecondsPerMillisecond]}ms`;
}

const thousandths: readonly string[] = Array.from({ length: microsecondsPerMillisecond }, (_, count) =>
  String(count).padStart(3, '0'),
);
