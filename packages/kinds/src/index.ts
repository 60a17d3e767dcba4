import type { Kind } from '@cluster-apiserver/model/kind';
import { admissionRegistrationKinds } from './admission-registration/kinds.ts';
import { customResourceDefinition } from './api-extensions/custom-resource-definition.ts';
import { controllerRevision } from './apps/controller-revision.ts';
import { certificateSigningRequest } from './certificates/certificate-signing-request.ts';
import { configMap } from './config/config-map.ts';
import { secret } from './config/secret.ts';
import { lease } from './coordination/lease.ts';
import { createEventKind } from './event/event-kind.ts';
import { flowSchema } from './flow-control/flow-schema.ts';
import { priorityLevelConfiguration } from './flow-control/priority-level-configuration.ts';
import { limitRange } from './limits/limit-range.ts';
import { resourceQuota } from './limits/resource-quota.ts';
import { namespaceKind } from './namespace/namespace.ts';
import { clusterRole } from './rbac/cluster-role.ts';
import { clusterRoleBinding } from './rbac/cluster-role-binding.ts';
import { role } from './rbac/role.ts';
import { roleBinding } from './rbac/role-binding.ts';
import { serviceAccount } from './service-account/service-account.ts';
import type { KindServices } from './services.ts';

export { admissionRegistration } from './admission-registration/admission-registration.ts';
export type { BindingSpec } from './admission-registration/binding.ts';
export type { WebhookClientConfig } from './admission-registration/client-config.ts';
export type { MatchCondition } from './admission-registration/match-conditions.ts';
export type { MatchResources } from './admission-registration/match-resources.ts';
export type { MutatingAdmissionPolicy, Mutation } from './admission-registration/mutating-admission-policy.ts';
export type { MutatingAdmissionPolicyBinding } from './admission-registration/mutating-admission-policy-binding.ts';
export type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
} from './admission-registration/mutating-webhook-configuration.ts';
export type { ParamKind, ParamRef } from './admission-registration/params.ts';
export type { PolicySpec } from './admission-registration/policy.ts';
export type { NamedRuleWithOperations } from './admission-registration/rules.ts';
export {
  type AuditAnnotation,
  findValidationReason,
  type ValidatingAdmissionPolicy,
  type Validation,
} from './admission-registration/validating-admission-policy.ts';
export type { ValidatingAdmissionPolicyBinding } from './admission-registration/validating-admission-policy-binding.ts';
export type {
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from './admission-registration/validating-webhook-configuration.ts';
export type { CertificateSigningRequest } from './certificates/certificate-signing-request.ts';
export { customResourceDefinition } from './api-extensions/custom-resource-definition.ts';
export { findApproval } from './api-extensions/approval.ts';
export { findBundleProblem } from './api-extensions/ca-bundle.ts';
export { findCondition, type Finding, isTrue } from './api-extensions/conditions.ts';
export { withCondition, withoutCondition } from './conditions.ts';
export type { CustomResourceDefinition, DefinitionNames } from './api-extensions/definition-fields.ts';
export { cleanupFinalizer } from './api-extensions/prepare-definition.ts';
export type { WebhookConfiguration } from './admission-registration/webhook.ts';
export {
  mandatoryFlowSchemas,
  mandatoryPriorityLevels,
  suggestedFlowSchemas,
  suggestedPriorityLevels,
} from './flow-control/default-objects.ts';
export { danglingCondition, type FlowSchema, flowSchema } from './flow-control/flow-schema.ts';
export type { PriorityLevelConfiguration } from './flow-control/priority-level-configuration.ts';
export { contentFinalizer, type Namespace, namespaceKind, type NamespaceCondition } from './namespace/namespace.ts';
export type { ConfigMap } from './config/config-map.ts';
export type { Lease } from './coordination/lease.ts';
export type { Secret } from './config/secret.ts';
export { serviceAccountNameAnnotation, serviceAccountTokenType } from './config/secret-types.ts';
export type { ServiceAccount } from './service-account/service-account.ts';
export { countedNames } from './limits/counted-names.ts';
export { isQuotaName } from './limits/resource-names.ts';
export { isScoped, type ResourceQuota } from './limits/resource-quota.ts';
export type { AggregationRule, ClusterRole } from './rbac/cluster-role.ts';
export type { ClusterRoleBinding } from './rbac/cluster-role-binding.ts';
export type { Role } from './rbac/role.ts';
export type { RoleBinding } from './rbac/role-binding.ts';
export { reviews } from './review/reviews.ts';
export type { ReviewServices } from './review/services.ts';
export type { KindServices, ServiceAccountTokens } from './services.ts';

/** The kinds that this server serves: a kind exists by its line here. */
export function kinds(services: KindServices): readonly Kind[] {
  return [
    createEventKind(services),
    serviceAccount(services),
    namespaceKind,
    configMap,
    secret,
    limitRange,
    resourceQuota,
    controllerRevision,
    lease,
    certificateSigningRequest,
    role,
    clusterRole,
    roleBinding,
    clusterRoleBinding,
    ...admissionRegistrationKinds,
    customResourceDefinition,
    flowSchema,
    priorityLevelConfiguration,
  ];
}
