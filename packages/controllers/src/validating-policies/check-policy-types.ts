/**
 * Checks the expressions of each ValidatingAdmissionPolicy against the types of the kinds that its rules match, and writes
 * the warnings into its status, once for each generation. The status does not influence enforcement.
 */
import { runTask } from '@cluster-apiserver/base';
import { admissionRegistration } from '@cluster-apiserver/kinds';
import { numberOf, type ServedKind } from '@cluster-apiserver/model';
import { findResource } from '@cluster-apiserver/registry';
import { readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, runController } from '../run-controller.ts';
import { checkTypes } from './type-check.ts';
import { writeTypeChecking } from './write-type-checking.ts';

export interface PolicyTypeCheckOptions extends ControllerOptions<PolicyTypeCheckEvent> {
  /** All kinds that clients see, in all groups and versions. */
  readonly served: readonly ServedKind[];
}

export type PolicyTypeCheckEvent =
  | { readonly type: 'checked'; readonly policy: string; readonly warnings: number }
  | { readonly type: 'failed'; readonly policy: string; readonly tries: number; readonly cause: unknown };

/** A check only uses the processor, so several at a time would not be faster. */
const workers = 1;

/** Checks policies until the signal aborts, and resolves when no work is running any more. */
export async function checkPolicyTypes(options: PolicyTypeCheckOptions): Promise<void> {
  const { resources, served, clock, signal, report } = options;
  const policies = findResource(resources, admissionRegistration.group, 'ValidatingAdmissionPolicy');
  if (!policies || signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: policies,
    followed: [policies],
    failed: (policy, failure) => report({ type: 'failed', policy, ...failure }),
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        await readBarrier(policies, call(), signal);
        const stored = readable(policies.collection.get(key));
        if (!stored) return;
        const policy = requireKind(stored.object, 'ValidatingAdmissionPolicy');
        const generation = numberOf(policy.metadata.generation ?? 0);
        if (generation <= numberOf(policy.status.observedGeneration ?? 0)) return;
        const warnings = await runTask(clock, call(), checkTypes(policy, served), true);
        await writeTypeChecking(policies, stored, { generation, warnings }, call());
        report({ type: 'checked', policy: stored.name, warnings: warnings.length });
      },
      changed: (_, { key, current }) => {
        if (readable(current)) enqueue(key);
      },
      sync: () => forEachKey(enqueue),
    }),
  });
}
