import { inOneStep } from '@cluster-apiserver/base';
import { type KubeObject, notFound, partOf, StatusError } from '@cluster-apiserver/model';
import { patch, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import type { ExpressionWarning } from './type-check.ts';

/** The writer, in managedFields. */
const manager = 'validatingadmissionpolicy-status-controller';

export interface TypeChecked {
  readonly generation: number;
  readonly warnings: readonly ExpressionWarning[];
}

/** Writes into the status of a policy what its expressions came to, unless it is gone. */
export async function writeTypeChecking(
  policies: Resource,
  { name, uid }: StoredObject,
  { generation, warnings }: TypeChecked,
  call: Call,
): Promise<void> {
  const change = (current: KubeObject): object => {
    if (current.metadata.uid !== uid) throw notFound(policies.kind, name);
    const status = current.status as object | undefined; // by the schema of its kind
    const typeChecking = warnings.length > 0 ? { expressionWarnings: warnings } : {};
    return { ...current, status: { ...status, observedGeneration: generation, typeChecking } };
  };
  const options = {
    namespace: undefined,
    part: partOf(policies.kind, 'status'),
    dryRun: false,
    manager,
    warn: ignore,
    unknownFields: ignore,
    change: inOneStep(change),
  };
  try {
    await patch(policies, name, options, call);
  } catch (error) {
    if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
  }
}

/** Warnings are for clients, and there is none. */
const ignore = (): void => {};
