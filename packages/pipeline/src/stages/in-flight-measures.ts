import type { Clock, CleanupStack } from '@cluster-apiserver/base';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { AuthenticatedContext, RequestInfoContext } from '../request-context.ts';
import { labelsOf, requestLabels } from './request-labels.ts';

/** As in kube-apiserver, the gauge is the maximum of the last second: a scrape would miss shorter peaks. */
const peakPeriodMs = 1000;

/** The label `request_kind` of upstream's metrics. */
export type RequestKind = 'readOnly' | 'mutating';

/** A request that may be rejected before its user is known. */
type RejectedContext = RequestInfoContext & Partial<Pick<AuthenticatedContext, 'user'>>;

export type InFlightMeasures = ReturnType<typeof createInFlightMeasures>;

/** Metrics of requests in flight, and of requests rejected because there were too many. */
export function createInFlightMeasures(metrics: Metrics, clock: Clock, cleanup: CleanupStack) {
  const gauge = metrics.gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Maximal number of requests in flight in the last second, by request kind.',
    labels: { request_kind: ['readOnly', 'mutating'] },
  });
  const dropped = metrics.counter({
    name: 'apiserver_dropped_requests_total',
    help: 'Requests rejected with 429 because too many were in flight.',
    labels: { request_kind: ['readOnly', 'mutating'] },
  });
  const terminations = metrics.counter<string>({
    name: 'apiserver_request_terminations_total',
    help: 'Requests that the server ended in self-defense.',
    labels: { ...requestLabels, code: ['429'] },
  });
  const now = { readOnly: 0, mutating: 0 };
  const peak = { readOnly: 0, mutating: 0 };
  const publish = (): void => {
    for (const kind of ['readOnly', 'mutating'] as const) {
      gauge.set({ request_kind: kind }, peak[kind]);
      peak[kind] = now[kind];
    }
    cancel = clock.after(peakPeriodMs, publish);
  };
  let cancel = (): void => {};
  publish();
  cleanup.defer('gauge of requests in flight', () => cancel());
  const refused = (request: RejectedContext): void => terminations.add({ ...labelsOf(request), code: '429' });
  return {
    /** Called when the number of used seats has changed. */
    used: (kind: RequestKind, seats: number): void => {
      now[kind] = seats;
      if (seats > peak[kind]) peak[kind] = seats;
    },
    rejected: (kind: RequestKind, context: RejectedContext): void => {
      dropped.add({ request_kind: kind });
      refused(context);
    },
    /** The listener refused a request of a connection with too many others. */
    refused,
  };
}
