import type { ServedKind } from '@cluster-apiserver/model';

/** Writes of policies and webhooks are never subject to webhooks: whoever locked everybody out can come back in this way. */
export const isAboutPolicies = ({ group }: ServedKind): boolean => group === 'admissionregistration.k8s.io';

const policyResources: ReadonlySet<string> = new Set([
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
]);

/** Policies and bindings are never subject to policies of the API, for the same reason. */
export const isPolicy = (resource: ServedKind): boolean =>
  isAboutPolicies(resource) && policyResources.has(resource.plural);

/** Whether policies of the API apply to writes of a resource. */
export const obeysApiPolicies = (resource: ServedKind): boolean => !isReview(resource) && !isPolicy(resource);

/** Nothing is written by a review of a user or of access, and a cluster in which they are refused does not work. */
export const isReview = ({ group }: ServedKind): boolean =>
  group === 'authentication.k8s.io' || group === 'authorization.k8s.io';
