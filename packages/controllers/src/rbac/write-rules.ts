import type { PolicyRule } from '@cluster-apiserver/model';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { applyFields } from '../change-object.ts';

/** The writer, in managedFields. */
const manager = 'clusterrole-aggregation-controller';

/** Applies the rules of an aggregated ClusterRole, as the controller of Kubernetes does. */
export const writeRules = (
  clusterRoles: Resource,
  role: StoredObject,
  rules: readonly PolicyRule[],
  call: Call,
): Promise<void> => applyFields(clusterRoles, role, { manager, fields: { rules } }, call);
