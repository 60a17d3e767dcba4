import type { Clock } from '@cluster-apiserver/base';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Buckets of kube-controller-manager: from 10 ns to 10 s. */
const workSecondsBuckets = Array.from({ length: 10 }, (_, power) => 1e-8 * 10 ** power).map((bound) =>
  Number(bound.toPrecision(1)),
);

/** The metrics of a controller. */
export type ControllerMeasures = ReturnType<ReturnType<typeof createControllerMeasures>>;
/** The metrics of its queue. */
export type QueueMeasures = Pick<ControllerMeasures, 'queued' | 'added' | 'began'>;

/** The work queue metrics of kube-controller-manager. */
export function createControllerMeasures(metrics: Metrics, controllers: readonly string[], clock: Clock) {
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
  return (name: string) => ({
    /** How many keys wait for a worker, whenever that has changed. */
    queued: (objects: number): void => depth.set({ name }, objects),
    /** A key was added that did not wait already. */
    added: (): void => adds.add({ name }),
    /** A worker has begun with a key that waited so long. The returned function is called when the work has ended. */
    began: (waitedSeconds: number): (() => void) => {
      queueSeconds.observe({ name }, waitedSeconds);
      const work = { sinceMs: clock.monotonicMs() };
      running.get(name)?.add(work);
      return () => {
        running.get(name)?.delete(work);
        workSeconds.observe({ name }, (clock.monotonicMs() - work.sinceMs) / 1000);
      };
    },
    /** A worker failed and tries again after a pause. */
    retried: (): void => retries.add({ name }),
    /** How many stored objects the controller cannot read; whatever may depend on them waits. */
    unreadable: (objects: number): void => unreadable.set({ name }, objects),
  });
}
