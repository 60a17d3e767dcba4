import { type FieldError, notSupported } from '@cluster-apiserver/model';
import type { MatchResources } from './match-resources.ts';

/** What is deleted is not changed first. */
const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** What is wrong with the operations of which a mutating policy wants to change the objects. */
export const mutatedOperationErrors = (at: string, match: MatchResources | undefined): FieldError[] =>
  (match?.resourceRules ?? [])
    .flatMap((rule) => rule.operations ?? [])
    .filter((operation) => !operations.includes(operation))
    .map((operation) => notSupported(`${at}.resourceRules.operations`, operation, operations));
