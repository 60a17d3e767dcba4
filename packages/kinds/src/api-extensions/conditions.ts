import type { CustomResourceDefinition, DefinitionCondition } from './definition-fields.ts';

/** Those that this server writes. */
export type ConditionType =
  | 'KubernetesAPIApprovalPolicyConformant'
  | 'NamesAccepted'
  | 'NonStructuralSchema'
  | 'Established'
  | 'Terminating';

export interface Finding {
  readonly type: ConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

type Conditions = CustomResourceDefinition['status']['conditions'];

export const findCondition = (conditions: Conditions, type: ConditionType): DefinitionCondition | undefined =>
  conditions?.find((condition) => condition.type === type);

export const isTrue = ({ status }: CustomResourceDefinition, type: ConditionType): boolean =>
  findCondition(status.conditions, type)?.status === 'True';
