import type { Problems } from '@cluster-apiserver/model';
import type { MatchResources } from './match-resources.ts';

/** What is deleted is not changed first. */
const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** The operations of a mutating policy. */
export function validateMutatedOperations(match: MatchResources | undefined, problems: Problems): void {
  const at = problems.at('resourceRules', 'operations');
  for (const rule of match?.resourceRules ?? [])
    for (const operation of rule.operations ?? [])
      if (!operations.includes(operation)) at.notSupported(operation, operations);
}
