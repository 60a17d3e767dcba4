import { type Clock, settle } from '@cluster-apiserver/base';
import { type Admission, type AdmissionContext, type AdmissionPlugin, createAdmission } from './admission.ts';

/** The step that changes objects, and the one that only accepts or rejects. Named as in kube-apiserver. */
export type AdmissionStep = 'admit' | 'validate';

/** Reports how long something took, and whether it rejected the write. */
export type ObserveAdmission = (operation: AdmissionContext['operation'], rejected: boolean, seconds: number) => void;

export interface AdmissionMeasures {
  /** Of all plugins together. */
  readonly step: (step: AdmissionStep) => ObserveAdmission;
  readonly plugin: (name: string, step: AdmissionStep) => ObserveAdmission;
}

/** Calls the plugins and measures each step and each plugin. */
export function createMeasuredAdmission(
  plugins: readonly AdmissionPlugin[],
  clock: Clock,
  measures: AdmissionMeasures,
): Admission {
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

const measure =
  <T>(
    act: (context: AdmissionContext) => T | Promise<T>,
    start: () => number,
    end: () => number,
    observe: ObserveAdmission,
  ): ((context: AdmissionContext) => T | Promise<T>) =>
  (context) => {
    const startMs = start();
    const observed = (rejected: boolean): void => observe(context.operation, rejected, (end() - startMs) / 1000);
    return settle(
      act,
      context,
      (answer) => {
        observed(false);
        return answer;
      },
      (refusal) => {
        observed(true);
        throw refusal;
      },
    );
  };
