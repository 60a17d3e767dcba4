import { type FieldError, notSupported } from '@cluster-apiserver/model';
import type { MatchResources } from './match-resources.ts';

/** What is deleted is not changed first. */
const operations = ['*', 'CONNECT', 'CREATE', 'UPDATE'];

/** Errors of the operations of a mutating policy. */
export const mutatedOperationErrors = (at: string, match: MatchResources | undefined): FieldError[] =>
  (match?.resourceRules ?? [])
    .flatMap((rule) => rule.operations ?? [])
    .filter((operation) => !operations.includes(operation))
    .map((operation) => notSupported(`${at}.resourceRules.operations`, operation, operations));
