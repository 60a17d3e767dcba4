import type { Authorizer } from '@cluster-apiserver/gates';
import type { AuthenticatedContext } from '../request-context.ts';
import { requireVerb } from '../stages/authorize.ts';

export const ignoreReadErrorsParameter = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** Required besides the verb of the deletion by whoever wants objects to be deleted that cannot be read. */
const unsafeVerb = 'unsafe-delete-ignore-read-errors';

/**
 * Whether objects that cannot be read are deleted: requested, switched on, and allowed. Without an authorizer nobody may,
 * and the deletion is an ordinary one.
 */
export async function authorizeUnsafeDeletion(
  context: AuthenticatedContext,
  requested: boolean | undefined,
  authorizer: Authorizer | undefined,
): Promise<boolean> {
  if (!requested) return false;
  if (!authorizer) {
    context.warnings.add(
      `${ignoreReadErrorsParameter} has no effect while the feature gate AllowUnsafeMalformedObjectDeletion is off`,
    );
    return false;
  }
  await requireVerb(
    authorizer,
    context,
    unsafeVerb,
    (reason) => `not permitted to do "${unsafeVerb}", reason: ${reason}`,
  );
  return true;
}
