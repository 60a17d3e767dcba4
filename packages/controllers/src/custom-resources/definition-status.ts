import {
  type CustomResourceDefinition,
  type Finding,
  findApproval,
  findCondition,
  isTrue,
  withCondition,
  withoutCondition,
} from '@cluster-apiserver/kinds';
import type { StructuralFinding } from '@cluster-apiserver/custom-resources';
import { acceptNames, type UsedNames } from './names.ts';

export interface Circumstances {
  /** The names of the other kinds of its group. */
  readonly used: UsedNames;
  readonly isServed: boolean;
  /** Whether its conversion webhook cannot be called, because the bundle holds no certificate. */
  readonly hasFaultyBundle: boolean;
  /** Why its schemas are not structural; undefined if they are. */
  readonly structuralFault: StructuralFinding | undefined;
}

/** The status of a definition that stays. Once established it remains so, and keeps the names that it has. */
export function statusAfter(
  definition: CustomResourceDefinition,
  circumstances: Circumstances,
  now: string,
): CustomResourceDefinition['status'] {
  const { spec, status } = definition;
  const { structuralFault } = circumstances;
  const { names, finding } = acceptNames(spec.names, status.acceptedNames, circumstances.used);
  const established = establish(definition, finding.status === 'True', circumstances);
  const approval = findApproval(definition);
  const findings: Finding[] = [
    finding,
    ...(established ? [established] : []),
    ...(approval ? [{ type: 'KubernetesAPIApprovalPolicyConformant', ...approval } as const] : []),
    ...(structuralFault ? [{ type: 'NonStructuralSchema', ...structuralFault } as const] : []),
  ];
  let conditions = structuralFault ? status.conditions : withoutCondition(status.conditions, 'NonStructuralSchema');
  for (const one of findings) conditions = withCondition(conditions, { ...one, lastTransitionTime: now });
  return { ...status, acceptedNames: names, conditions };
}

/** Undefined if it stays as it is. */
function establish(
  { status }: CustomResourceDefinition,
  hasNames: boolean,
  { isServed, hasFaultyBundle }: Circumstances,
): Finding | undefined {
  const before = findCondition(status.conditions, 'Established');
  if (before?.status === 'True' || (before && !hasNames)) return undefined;
  const type = 'Established';
  if (!hasNames) return { type, status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
  if (hasFaultyBundle)
    return {
      type,
      status: 'False',
      reason: 'InvalidCABundle',
      message: 'The conversion webhook CABundle is invalid',
    };
  const message = 'the initial names have been accepted';
  return isServed
    ? { type, status: 'True', reason: 'InitialNamesAccepted', message }
    : { type, status: 'False', reason: 'Installing', message };
}

/** Whether a client may have created objects of its kind. */
export const wasServed = (definition: CustomResourceDefinition): boolean =>
  isTrue(definition, 'Established') || isTrue(definition, 'NamesAccepted');
