import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';
import type { FlowControl, FlowMeasures } from './flow-control.ts';

/** Names of the objects, which administrators write. */
const flowLabels = { flow_schema: 'any', priority_level: 'any' } as const;

/** Metrics of priority and fairness, under upstream's names. */
export function createFlowMeasures(metrics: Metrics): FlowMeasures {
  const dispatched = metrics.counter<string>({
    name: 'apiserver_flowcontrol_dispatched_requests_total',
    help: 'Requests that got their seats.',
    labels: flowLabels,
  });
  const rejected = metrics.counter<string>({
    name: 'apiserver_flowcontrol_rejected_requests_total',
    help: 'Requests rejected with 429, by reason: the queue was full, there was none, or the wait was too long.',
    labels: { ...flowLabels, reason: ['queue-full', 'concurrency-limit', 'time-out'] },
  });
  const waited = metrics.histogram<string>({
    name: 'apiserver_flowcontrol_request_wait_duration_seconds',
    help: 'Waits of requests in queues. A request that finds free seats does not wait, and is not counted.',
    labels: { ...flowLabels, execute: ['true', 'false'] },
    buckets: createDoublingBuckets(0.001, 15),
  });
  const labelsOf = ({ schema, level }: Parameters<FlowMeasures['dispatched']>[0]) => ({
    flow_schema: schema.name,
    priority_level: level.name,
  });
  return {
    dispatched: (flow) => dispatched.add(labelsOf(flow)),
    rejected: (flow, reason) => rejected.add({ ...labelsOf(flow), reason }),
    waited: (flow, ms, execute) => waited.observe({ ...labelsOf(flow), execute: String(execute) }, ms / 1000),
  };
}

/** What a scrape reads from the levels. */
export function publishLevels(metrics: Metrics, control: FlowControl): void {
  const gauge = (name: string, help: string, valueOf: (level: LevelOf<typeof control.levels>) => number): void =>
    metrics.readAtScrape<'priority_level'>('gauge', { name, help, labels: ['priority_level'] }, () =>
      Array.from(control.levels, (level) => ({ labels: { priority_level: level.name }, value: valueOf(level) })),
    );
  gauge('apiserver_flowcontrol_current_inqueue_requests', 'Requests that wait.', ({ waiting }) => waiting);
  gauge(
    'apiserver_flowcontrol_current_held_refusals',
    'Requests whose answer 429 is held back, because there are too many of them.',
    ({ refusals }) => refusals.held,
  );
  gauge('apiserver_flowcontrol_current_executing_requests', 'Requests that run.', ({ executing }) => executing);
  gauge('apiserver_flowcontrol_current_executing_seats', 'Seats of the requests that run.', ({ used }) => used);
  gauge('apiserver_flowcontrol_nominal_limit_seats', 'Seats by the shares of the level.', ({ seats }) => seats.nominal);
  gauge(
    'apiserver_flowcontrol_lower_limit_seats',
    'Seats that no other level can have borrowed.',
    ({ guaranteed }) => guaranteed,
  );
  gauge('apiserver_flowcontrol_upper_limit_seats', 'Seats of the level and those that it may borrow.', ({ limit }) =>
    Math.min(limit, control.seats),
  );
}

type LevelOf<Levels> = Levels extends Iterable<infer Level> ? Level : never;
