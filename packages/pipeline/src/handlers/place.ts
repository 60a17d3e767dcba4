import { invariant } from '@cluster-apiserver/base';
import type { Admission, Authorizer, OperationOptions } from '@cluster-apiserver/gates';
import type { DeleteOptions, Requester } from '@cluster-apiserver/registry';
import type { Authenticated, Understood } from '../facts.ts';
import { flag, type RequestInfo, text } from '../request-info.ts';
import { requireVerb } from '../stages/authorize.ts';

/** Where the object of a route is that names one. */
export function placeOf(facts: Understood): { namespace: string | undefined; name: string } {
  const name = facts.info.resource?.name;
  invariant(name !== undefined, 'a handler of one object was reached without its name');
  return { namespace: namespaceOf(facts), name };
}

/** Undefined for cluster-scoped kinds. */
export const namespaceOf = ({ info: { resource } }: Understood): string | undefined =>
  resource?.inNamespace ? resource.namespace : undefined;

/** What a write has to get past after the request itself was authorized. */
export interface WriteChecks {
  readonly admission: Admission;
  /** For what a write does besides its own verb. */
  readonly authorizer: Authorizer;
}

/** Who sends a write. */
export const requesterOf = (
  facts: Authenticated,
  { admission, authorizer }: WriteChecks,
  options: OperationOptions,
): Requester => ({
  admission,
  user: facts.user,
  subresource: facts.info.resource?.subresource,
  options,
  call: facts.call,
  warn: (text) => void facts.warnings.add(text),
  annotate: (key, value) => facts.audit?.annotate(key, value),
  authorizeCreate: () => requireVerb(authorizer, facts, 'create'),
});

/** The options of a write as they stand in the query. */
export function operationOptions(
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  { query }: RequestInfo,
): OperationOptions {
  if (query.size === 0) return { kind };
  return {
    kind,
    dryRun: query.has('dryRun') ? query.getAll('dryRun') : undefined,
    fieldManager: text(query, 'fieldManager'),
    fieldValidation: text(query, 'fieldValidation'),
    force: kind === 'PatchOptions' ? flag(query, 'force') : undefined,
  };
}

/** The options of a deletion, wherever they stand. */
export const deletionOptions = ({
  dryRun,
  gracePeriodSeconds,
  orphanDependents,
  propagationPolicy,
  preconditions,
}: Omit<DeleteOptions, 'namespace'>): OperationOptions => ({
  kind: 'DeleteOptions',
  dryRun: dryRun ? ['All'] : undefined,
  gracePeriodSeconds,
  orphanDependents,
  propagationPolicy,
  preconditions,
});
