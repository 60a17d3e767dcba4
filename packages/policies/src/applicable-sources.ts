import type { ServedKind } from '@cluster-apiserver/model';

/**
 * Which sources of policies, or of webhooks, a write obeys. What comes from the API never applies to what it is configured
 * by: an administrator who is locked out deletes it. What comes from files does, and keeps it from being deleted.
 */
export type ApplicableSources = 'nothing' | 'files' | 'filesAndApi';

export function getPolicySources(resource: ServedKind): ApplicableSources {
  // Nothing is written by a review of a user or of access, and a cluster in which reviews are refused does not work.
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
