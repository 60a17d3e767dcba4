import type { Clock } from '@cluster-apiserver/base';
import type { Admission, AdmissionContext, AdmissionPlugin } from './admission.ts';

export type AdmissionOperation = AdmissionContext['operation'];

/** The part of admission that changes objects, and the one that only refuses. Named as in kube-apiserver. */
export type AdmissionStep = 'admit' | 'validate';

/** Reports how long something took, and whether it refused the write. */
export type ObserveAdmission = (operation: AdmissionOperation, rejected: boolean, seconds: number) => void;

/** The same plugin, which reports each call. */
export const measuredPlugin = (
  plugin: AdmissionPlugin,
  clock: Clock,
  observer: (step: AdmissionStep) => ObserveAdmission,
): AdmissionPlugin => ({
  ...plugin,
  ...(plugin.mutate && { mutate: timed(plugin.mutate, clock, observer('admit')) }),
  ...(plugin.validate && { validate: timed(plugin.validate, clock, observer('validate')) }),
});

/** The same admission, which reports each step as a whole. */
export const measuredAdmission = (
  { mutate, validate }: Admission,
  clock: Clock,
  observer: (step: AdmissionStep) => ObserveAdmission,
): Admission => ({
  mutate: timed(mutate, clock, observer('admit')),
  validate: timed(validate, clock, observer('validate')),
});

/** Nothing waits that did not wait before, and nothing is allocated for what answers at once. */
function timed<T>(
  act: (context: AdmissionContext) => T | Promise<T>,
  clock: Clock,
  observe: ObserveAdmission,
): (context: AdmissionContext) => T | Promise<T> {
  const end = (context: AdmissionContext, startMs: number, rejected: boolean): void =>
    observe(context.operation, rejected, (clock.monotonicMs() - startMs) / 1000);
  const observeLater = async (context: AdmissionContext, startMs: number, waitedFor: Promise<T>): Promise<T> => {
    let rejected = true;
    try {
      const answer = await waitedFor;
      rejected = false;
      return answer;
    } finally {
      end(context, startMs, rejected);
    }
  };
  return (context) => {
    const startMs = clock.monotonicMs();
    let answer: T | Promise<T>;
    try {
      answer = act(context);
    } catch (refusal) {
      end(context, startMs, true);
      throw refusal;
    }
    if (answer instanceof Promise) return observeLater(context, startMs, answer);
    end(context, startMs, false);
    return answer;
  };
}
