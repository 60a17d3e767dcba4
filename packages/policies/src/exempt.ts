import type { ServedKind } from '@cluster-apiserver/model';

/** Writes of policies and webhooks are never subject to them: whoever locked everybody out can come back in this way. */
export const isAboutPolicies = ({ group }: ServedKind): boolean => group === 'admissionregistration.k8s.io';
