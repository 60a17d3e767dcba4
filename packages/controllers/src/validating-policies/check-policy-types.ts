/**
 * Checks the expressions of each ValidatingAdmissionPolicy against the types of the kinds that its rules match, and writes
 * the warnings into its status, once for each generation. The status does not influence enforcement.
 */
import { runTask } from '@cluster-apiserver/base';
import { admissionRegistration } from '@cluster-apiserver/kinds';
import { numberOf } from '@cluster-apiserver/model/json';
import { applyFields } from '../change-object.ts';
import { readable, readBarrier } from '../memory.ts';
import { requireKind } from '../object-of-kind.ts';
import { type ControllerOptions, runController } from '../run-controller.ts';
import { checkTypes } from './type-check.ts';

/** The writer, in managedFields. As in Kubernetes, so that warnings of a migrated policy can be removed. */
const manager = 'validatingadmissionpolicy-status';

/** A check only uses the processor, so several at a time would not be faster. */
const workers = 1;

/** Checks policies until the signal aborts, and resolves when no work is running any more. */
export async function checkPolicyTypes(options: ControllerOptions): Promise<void> {
  const { api, clock, signal, log } = options;
  const policies = api.byGroupKind(admissionRegistration.group, 'ValidatingAdmissionPolicy');
  if (!policies || signal.aborted) return;
  await runController(options, {
    workers,
    reconciled: policies,
    start: ({ enqueue, forEachKey, call }) => ({
      reconcile: async (key) => {
        await readBarrier([policies], call(), signal);
        const stored = readable(policies.collection.get(key));
        if (!stored) return;
        const policy = requireKind(stored.object, 'ValidatingAdmissionPolicy');
        const generation = numberOf(policy.metadata.generation ?? 0);
        if (generation <= numberOf(policy.status.observedGeneration ?? 0)) return;
        const served = api.resources.map((one) => one.served);
        const warnings = await runTask(clock, call(), checkTypes(policy, served), true);
        const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
        const fields = { status: { observedGeneration: generation, typeChecking } };
        await applyFields(policies, stored, { manager, subresource: 'status', fields }, call());
        log.debug(2, 'checked the types of a ValidatingAdmissionPolicy', {
          policy: stored.name,
          warnings: warnings.length,
        });
      },
      changed: (_, { key, current }) => {
        if (readable(current)) enqueue(key);
      },
      sync: () => forEachKey(enqueue),
    }),
  });
}
