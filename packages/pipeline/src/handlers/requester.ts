import { invariant } from '@cluster-apiserver/base';
import type { Admission, Authorizer, OperationOptions } from '@cluster-apiserver/gates';
import type { Requester } from '@cluster-apiserver/registry';
import { addWarning, type AuthenticatedContext, type RequestInfoContext } from '../request-context.ts';
import { readBoolean, type RequestInfo, readString } from '../request-info.ts';
import { requireVerb } from '../stages/authorize.ts';

/** The namespace and name in the path of an object. */
export function namespacedNameOf(context: RequestInfoContext): { namespace: string | undefined; name: string } {
  const name = context.info.resource?.name;
  invariant(name !== undefined, 'the handler of a single object was called without a name');
  return { namespace: namespaceOf(context), name };
}

/** Undefined for cluster-scoped kinds. */
export const namespaceOf = ({ info: { resource } }: RequestInfoContext): string | undefined =>
  resource?.isInNamespace ? resource.namespace : undefined;

/** Checks of a write after the request itself was authorized. */
export interface WriteChecks {
  readonly admission: Admission;
  /** Authorizes what a write does besides its own verb, such as a create by PUT. */
  readonly authorizer: Authorizer;
}

/** The requester of a write, with the checks that it must pass. */
export const createRequester = (
  context: AuthenticatedContext,
  { admission, authorizer }: WriteChecks,
  options: OperationOptions,
): Requester => ({
  admission,
  user: context.user,
  subresource: context.info.resource?.subresource,
  options,
  call: context.call,
  warn: (text) => addWarning(context, text),
  annotate: (key, value) => context.audit?.annotate(key, value),
  authorizeCreate: () => requireVerb(authorizer, context, 'create'),
});

/** The options of a write from the query, as admission sees them. */
export function readOperationOptions(
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  { query }: RequestInfo,
): OperationOptions {
  if (query.size === 0) return { kind };
  return {
    kind,
    dryRun: query.has('dryRun') ? query.getAll('dryRun') : undefined,
    fieldManager: readString(query, 'fieldManager'),
    fieldValidation: readString(query, 'fieldValidation'),
    force: kind === 'PatchOptions' ? readBoolean(query, 'force') : undefined,
  };
}
