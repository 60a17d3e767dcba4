import type { Clock } from '@cluster-apiserver/base';
import type { InFlightMeasures, ListenerMeasures } from '@cluster-apiserver/pipeline';
import type { Log } from '@cluster-apiserver/telemetry';

/** Rejections come in thousands, so they are counted for this time between two lines. */
const periodMs = 60_000;

/** Calls `write` for the first one, and then for one in a period, with their number since the call before. */
function oncePerPeriod<T extends readonly unknown[]>(
  clock: Clock,
  write: (count: number, ...last: T) => void,
): (...args: T) => void {
  let writtenMs = Number.NEGATIVE_INFINITY;
  let count = 0;
  return (...args) => {
    count++;
    const nowMs = clock.monotonicMs();
    if (nowMs - writtenMs < periodMs) return;
    write(count, ...args);
    writtenMs = nowMs;
    count = 0;
  };
}

/** Logs requests that are rejected with 429: their number, and the user and the FlowSchema of the last one. */
export function withRejectionLog(measures: InFlightMeasures, log: Log, clock: Clock): InFlightMeasures {
  type Rejected = Parameters<InFlightMeasures['refused']>[0];
  const note = oncePerPeriod(clock, (requests, { user, flow }: Rejected) =>
    log.withName('http').warn(
      // Meaning: The queues of a priority level are full, or a wait would be too long, or a user has too many
      // watches. Clients try again after `Retry-After`.
      'rejecting requests with 429: too many in flight, or too many watches of a user',
      'find the client in the audit log or at --v=2, or raise --max-requests-inflight: docs/scaling.md',
      { requests, user: user?.name, flowSchema: flow?.schema.name },
    ),
  );
  return {
    ...measures,
    rejected: (kind, request) => {
      note(request);
      measures.rejected(kind, request);
    },
    refused: (request) => {
      note(request);
      measures.refused(request);
    },
  };
}

/** Logs connections that are refused: their number, and which limit the last one met. */
export function withRefusedConnectionLog<T extends ListenerMeasures>(measures: T, log: Log, clock: Clock): T {
  const note = oncePerPeriod(clock, (connections, reason: string) =>
    log.withName('http').warn(
      // Meaning: New connections are closed at once, because one address, the replica or the process has too many.
      // Open ones go on.
      'refusing connections: a limit is exhausted',
      'find who opens them; raise --max-connections-per-peer (peer) or the limit of open files (descriptors), or add replicas (limit): docs/operate.md',
      { connections, reason },
    ),
  );
  return {
    ...measures,
    countRefusedConnection: (reason) => {
      note(reason);
      measures.countRefusedConnection(reason);
    },
  };
}
