import type { Problems } from '@cluster-apiserver/model';
import type { Finding } from './conditions.ts';
import type { CustomResourceDefinition } from './definition-fields.ts';

/** Groups of the Kubernetes community are for kinds that it has reviewed. */
const annotation = 'api-approved.kubernetes.io';

const isProtected = (group: string): boolean => /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(group);

const see = 'see https://github.com/kubernetes/enhancements/pull/1111';

type Approval = Pick<Finding, 'status' | 'message'> & {
  readonly reason: 'MissingAnnotation' | 'UnapprovedAnnotation' | 'ApprovedAnnotation' | 'InvalidAnnotation';
};

/** Whether its group may hold it; undefined for a group that is not protected. */
export function findApproval({ spec, metadata }: CustomResourceDefinition): Approval | undefined {
  if (!isProtected(spec.group)) return undefined;
  const approval = metadata.annotations?.[annotation] ?? '';
  const needed = `protected groups must have approval annotation "${annotation}"`;
  if (approval === '') return { status: 'False', reason: 'MissingAnnotation', message: `${needed}, ${see}` };
  if (approval.startsWith('unapproved'))
    return {
      status: 'False',
      reason: 'UnapprovedAnnotation',
      message: `not approved: ${JSON.stringify(approval)}`,
    };
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(approval) && URL.canParse(approval))
    return { status: 'True', reason: 'ApprovedAnnotation', message: `approved in ${approval}` };
  return {
    status: 'False',
    reason: 'InvalidAnnotation',
    message: `${needed} with either a URL or a reason starting with "unapproved", ${see}`,
  };
}

/** What has no valid approval may stay so: who changes another part of it need not know. */
export function validateApproval(
  definition: CustomResourceDefinition,
  current: CustomResourceDefinition | undefined,
  problems: Problems,
): void {
  const approval = findApproval(definition);
  if (!approval || (current && findApproval(current)?.reason === approval.reason)) return;
  const at = problems.at('metadata', 'annotations', { key: annotation });
  if (approval.reason === 'MissingAnnotation') at.required(approval.message);
  else if (approval.reason === 'InvalidAnnotation')
    at.invalid(definition.metadata.annotations?.[annotation] ?? '', approval.message);
}
