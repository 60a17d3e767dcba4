import type { KubeObject } from '@cluster-apiserver/model';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { changeObject } from '../change-object.ts';
import { requireKind } from '../object-of-kind.ts';
import type { ExpressionWarning } from './type-check.ts';

/** The writer, in managedFields. */
const manager = 'validatingadmissionpolicy-status-controller';

export interface TypeChecked {
  readonly generation: number;
  readonly warnings: readonly ExpressionWarning[];
}

/** Writes the result of the type check into the status of a policy, unless it no longer exists. */
export function writeTypeChecking(
  policies: Resource,
  policy: StoredObject,
  { generation, warnings }: TypeChecked,
  call: Call,
): Promise<void> {
  const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
  const change = (current: KubeObject): object => {
    const { status } = requireKind(current, 'ValidatingAdmissionPolicy');
    return { ...current, status: { ...status, observedGeneration: generation, typeChecking } };
  };
  return changeObject(policies, policy, { manager, part: 'status', change }, call);
}
