import type { PolicyRule } from '@cluster-apiserver/model';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { changeObject } from '../change-object.ts';

/** The writer, in managedFields. */
const manager = 'clusterrole-aggregation-controller';

/** Writes the rules of an aggregated ClusterRole, unless it no longer exists. */
export const writeRules = (
  clusterRoles: Resource,
  role: StoredObject,
  rules: readonly PolicyRule[],
  call: Call,
): Promise<void> => changeObject(clusterRoles, role, { manager, change: (current) => ({ ...current, rules }) }, call);
