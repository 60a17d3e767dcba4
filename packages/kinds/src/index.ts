import type { Kind } from '@cluster-apiserver/model';
import { event } from './event/event.ts';
import { eventOfEvents } from './event/events-v1.ts';
import { namespace } from './namespace/namespace.ts';
import { clusterRole } from './rbac/cluster-role.ts';
import { clusterRoleBinding } from './rbac/cluster-role-binding.ts';
import { role } from './rbac/role.ts';
import { roleBinding } from './rbac/role-binding.ts';
import { serviceAccount } from './service-account/service-account.ts';
import type { KindServices } from './services.ts';

export { contentFinalizer, type Namespace, namespace, type NamespaceCondition } from './namespace/namespace.ts';
export type { AggregationRule, ClusterRole } from './rbac/cluster-role.ts';
export type { ClusterRoleBinding } from './rbac/cluster-role-binding.ts';
export type { Role } from './rbac/role.ts';
export type { RoleBinding } from './rbac/role-binding.ts';
export { reviews } from './review/reviews.ts';
export type { ReviewServices } from './review/services.ts';
export type { KindServices, ServiceAccountTokens } from './services.ts';

/** The kinds that this server serves: a kind exists by its line here. */
export function kinds(services: KindServices): readonly Kind[] {
  const events = event(services);
  return [
    events,
    serviceAccount(services),
    namespace,
    eventOfEvents(events),
    role,
    clusterRole,
    roleBinding,
    clusterRoleBinding,
  ];
}
