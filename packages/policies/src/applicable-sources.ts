import type { ServedKind } from '@cluster-apiserver/model/kind';

/**
 * Which sources of policies, or of webhooks, apply to a write. Policies from the API never apply to the resources that
 * configure them, so that a locked-out administrator can delete them. Policies from files do apply to these.
 */
export type ApplicableSources = 'nothing' | 'files' | 'filesAndApi';

export function getPolicySources(resource: ServedKind): ApplicableSources {
  // Reviews write nothing, and a cluster that rejects reviews does not work.
  if (resource.group === 'authentication.k8s.io' || resource.group === 'authorization.k8s.io') return 'nothing';
  return configuresAdmission(resource) && policyResources.has(resource.plural) ? 'files' : 'filesAndApi';
}

export const getWebhookSources = (resource: ServedKind): ApplicableSources =>
  configuresAdmission(resource) ? 'files' : 'filesAndApi';

/** Whether objects of a resource configure admission. */
export const configuresAdmission = ({ group }: ServedKind): boolean => group === 'admissionregistration.k8s.io';

const policyResources: ReadonlySet<string> = new Set([
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);
