import type { CustomResourceDefinition } from './definition-fields.ts';

export const isTrue = ({ status }: CustomResourceDefinition, type: string): boolean =>
  status.conditions?.find((condition) => condition.type === type)?.status === 'True';
