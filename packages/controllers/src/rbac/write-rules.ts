import { inOneStep } from '@cluster-apiserver/base';
import { type KubeObject, notFound, type PolicyRule, StatusError } from '@cluster-apiserver/model';
import { patch, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';

/** The writer, in managedFields. */
const manager = 'clusterrole-aggregation-controller';

/** Writes the rules of an aggregated ClusterRole, unless it is gone. */
export async function writeRules(
  clusterRoles: Resource,
  { name, uid }: StoredObject,
  rules: readonly PolicyRule[],
  call: Call,
): Promise<void> {
  const change = (current: KubeObject): object => {
    if (current.metadata.uid !== uid) throw notFound(clusterRoles.kind, name);
    return { ...current, rules };
  };
  const options = {
    namespace: undefined,
    dryRun: false,
    manager,
    warn: ignore,
    unknownFields: ignore,
    change: inOneStep(change),
  };
  try {
    await patch(clusterRoles, name, options, call);
  } catch (error) {
    if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
  }
}

/** Warnings are for clients, and there is none. */
const ignore = (): void => {};
