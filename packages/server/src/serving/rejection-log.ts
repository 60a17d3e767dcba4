import type { Clock } from '@cluster-apiserver/base';
import type { InFlightMeasures } from '@cluster-apiserver/pipeline';
import type { Log } from '@cluster-apiserver/telemetry';

/** Rejections come in thousands, so they are counted for this time between two lines. */
const periodMs = 60_000;

/** Logs the first request that is rejected with 429, and then how many were, once a period. */
export function withRejectionLog(measures: InFlightMeasures, log: Log, clock: Clock): InFlightMeasures {
  let loggedMs = Number.NEGATIVE_INFINITY;
  let requests = 0;
  const note = (): void => {
    requests++;
    const nowMs = clock.monotonicMs();
    if (nowMs - loggedMs < periodMs) return;
    log
      .withName('http')
      .warn(
        'rejecting requests with 429: too many in flight, or too many watches of a user',
        'find the client in the audit log or at --v=2, or raise --max-requests-inflight: docs/scaling.md',
        {
          requests,
        },
      );
    loggedMs = nowMs;
    requests = 0;
  };
  return {
    ...measures,
    rejected: (...request) => {
      note();
      measures.rejected(...request);
    },
    refused: (...request) => {
      note();
      measures.refused(...request);
    },
  };
}
