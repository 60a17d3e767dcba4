import { type Clock, settle } from '@cluster-apiserver/base';
import type { Metrics, Observe } from '@cluster-apiserver/telemetry';
import { type Admission, type AdmissionContext, type AdmissionPlugin, createAdmission } from './admission.ts';

/** The step that changes objects, and the one that only accepts or rejects. Named as in kube-apiserver. */
type AdmissionStep = 'admit' | 'validate';

/** Calls the plugins and measures each step and each plugin. */
export function createMeasuredAdmission(
  plugins: readonly AdmissionPlugin[],
  clock: Clock,
  metrics: Metrics,
): Admission {
  const measures = createAdmissionMeasures(metrics);
  /**
   * When the step began or the last plugin ended. The next plugin begins at that time, and the step ends with its last
   * plugin, so the clock is read once per plugin: reading it costs more than most plugins.
   */
  let lapMs = 0;
  const lap = (): number => (lapMs = clock.monotonicMs());
  const lastLap = (): number => lapMs;
  const measured = plugins.map(({ mutate, validate, ...plugin }): AdmissionPlugin => {
    const { name } = plugin;
    return {
      ...plugin,
      ...(mutate && { mutate: measure(mutate, lastLap, lap, measures.plugin(name, 'admit')) }),
      ...(validate && { validate: measure(validate, lastLap, lap, measures.plugin(name, 'validate')) }),
    };
  });
  const { mutate, validate } = createAdmission(measured);
  return {
    mutate: measure(mutate, lap, lastLap, measures.step('admit')),
    validate: measure(validate, lap, lastLap, measures.step('validate')),
  };
}

/** What is measured of one call: everything else is made once, since each write calls all plugins. */
interface Lap {
  readonly context: AdmissionContext;
  readonly startMs: number;
}

function measure<T>(
  act: (context: AdmissionContext) => T | Promise<T>,
  start: () => number,
  end: () => number,
  observe: ObserveAdmission,
): (context: AdmissionContext) => T | Promise<T> {
  const observed = ({ context, startMs }: Lap, rejected: boolean): void =>
    observe(context.operation, rejected, (end() - startMs) / 1000);
  const work = ({ context }: Lap): T | Promise<T> => act(context);
  const done = (answer: T, lap: Lap): T => {
    observed(lap, false);
    return answer;
  };
  const failed = (refusal: unknown, lap: Lap): never => {
    observed(lap, true);
    throw refusal;
  };
  return (context) => settle(work, { context, startMs: start() }, done, failed);
}

type Operation = AdmissionContext['operation'];
type Rejected = 'true' | 'false';
/** Reports how long something took, and whether it rejected the write. */
type ObserveAdmission = (operation: Operation, rejected: boolean, seconds: number) => void;

/** Upstream's buckets. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const operations: readonly Operation[] = ['CREATE', 'UPDATE', 'DELETE'];
const ofStep = { type: ['admit', 'validate'], operation: operations, rejected: ['true', 'false'] } as const;

/** The admission metrics of kube-apiserver. Plugin names come from the server, so their number is bounded. */
function createAdmissionMeasures(metrics: Metrics) {
  const steps = metrics.histogram({
    name: 'apiserver_admission_step_admission_duration_seconds',
    help: 'Admission sub-step latency in seconds, by operation and step type (validate or admit).',
    labels: ofStep,
    buckets,
  });
  const plugins = metrics.histogram({
    name: 'apiserver_admission_controller_admission_duration_seconds',
    help: 'Admission plugin latency in seconds, by plugin name, operation and step type (validate or admit).',
    labels: { name: 'any', ...ofStep },
    buckets,
  });
  return {
    /** Of all plugins together. */
    step: (type: AdmissionStep) => createObserver((operation, rejected) => steps.series({ type, operation, rejected })),
    plugin: (name: string, type: AdmissionStep) =>
      createObserver((operation, rejected) => plugins.series({ name, type, operation, rejected })),
  };
}

/** Caches the series: every write observes several of them. */
function createObserver(seriesOf: (operation: Operation, rejected: Rejected) => Observe): ObserveAdmission {
  const found: Readonly<Record<Operation, Partial<Record<Rejected, Observe>>>> = { CREATE: {}, UPDATE: {}, DELETE: {} };
  return (operation, rejected, seconds) => {
    const outcome = rejected ? 'true' : 'false';
    (found[operation][outcome] ??= seriesOf(operation, outcome))(seconds);
  };
}
