import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { applyFields } from '../change-object.ts';
import type { ExpressionWarning } from './type-check.ts';

/** The writer, in managedFields. As in Kubernetes, so that warnings of a migrated policy can be removed. */
const manager = 'validatingadmissionpolicy-status';

export interface TypeChecked {
  readonly generation: number;
  readonly warnings: readonly ExpressionWarning[];
}

/** Applies the result of the type check to the status of a policy. */
export function writeTypeChecking(
  policies: Resource,
  policy: StoredObject,
  { generation, warnings }: TypeChecked,
  call: Call,
): Promise<void> {
  const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
  const fields = { status: { observedGeneration: generation, typeChecking } };
  return applyFields(policies, policy, { manager, subresource: 'status', fields }, call);
}
