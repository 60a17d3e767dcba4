import type { Clock } from '@cluster-apiserver/base';
import type { ControllerMeasures } from '@cluster-apiserver/controllers';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Buckets of kube-controller-manager: from 10 ns to 10 s. */
const workSecondsBuckets = Array.from({ length: 10 }, (_, power) => 1e-8 * 10 ** power).map((bound) =>
  Number(bound.toPrecision(1)),
);

/** The work queue metrics of kube-controller-manager. */
export function createControllerMeasures(
  metrics: Metrics,
  controllers: readonly string[],
  clock: Clock,
): (name: string) => ControllerMeasures {
  const labels = { name: controllers };
  const depth = metrics.gauge({
    name: 'workqueue_depth',
    help: 'Objects waiting for a worker, by controller.',
    labels,
  });
  const adds = metrics.counter({
    name: 'workqueue_adds_total',
    help: 'Number of objects added to the queue of a controller, without those that were already queued.',
    labels,
  });
  const queueSeconds = metrics.histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Seconds that an object waited in the queue for a worker, by controller.',
    labels,
    buckets: workSecondsBuckets,
  });
  const workSeconds = metrics.histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'Seconds that the work on an object took, by controller.',
    labels,
    buckets: workSecondsBuckets,
  });
  const retries = metrics.counter({
    name: 'workqueue_retries_total',
    help: 'Number of failed attempts that are retried with backoff, by controller.',
    labels,
  });
  const unreadable = metrics.gauge({
    name: 'controller_unreadable_objects',
    help: 'Number of stored objects that the controller cannot read; work that may depend on them waits.',
    labels,
  });
  /** Start times of the running work, by controller. */
  const running = new Map<string, Set<{ readonly sinceMs: number }>>(controllers.map((name) => [name, new Set()]));
  const ages = (name: string): number[] =>
    Array.from(running.get(name) ?? [], ({ sinceMs }) => (clock.monotonicMs() - sinceMs) / 1000);
  const ofRunning = (name: string, help: string, read: (ages: readonly number[]) => number): void =>
    metrics.readAtScrape('gauge', { name, help, labels: ['name'] }, () =>
      controllers.map((controller) => ({ labels: { name: controller }, value: read(ages(controller)) })),
    );
  ofRunning(
    'workqueue_unfinished_work_seconds',
    'Total seconds of the work in progress, by controller. Grows while a worker is stuck.',
    (all) => all.reduce((sum, age) => sum + age, 0),
  );
  ofRunning(
    'workqueue_longest_running_processor_seconds',
    'Seconds of the longest work in progress, by controller.',
    (all) => Math.max(0, ...all),
  );
  return (name) => ({
    queued: (objects) => depth.set({ name }, objects),
    added: () => adds.add({ name }),
    began: (waitedSeconds) => {
      queueSeconds.observe({ name }, waitedSeconds);
      const work = { sinceMs: clock.monotonicMs() };
      running.get(name)?.add(work);
      return () => {
        running.get(name)?.delete(work);
        workSeconds.observe({ name }, (clock.monotonicMs() - work.sinceMs) / 1000);
      };
    },
    retried: () => retries.add({ name }),
    unreadable: (objects) => unreadable.set({ name }, objects),
  });
}

export function publishLeadership(metrics: Metrics, election: { readonly isLeading: boolean }): void {
  metrics.readAtScrape(
    'gauge',
    {
      name: 'leader_election_master_status',
      help: '1 if this replica is the leader, else 0. Exactly one replica should be the leader.',
      labels: ['name'],
    },
    () => [{ labels: { name: 'controllers' }, value: election.isLeading ? 1 : 0 }],
  );
}
