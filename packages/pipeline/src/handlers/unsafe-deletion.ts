import type { Authorizer } from '@cluster-apiserver/gates';
import { addWarning, type AuthenticatedContext } from '../request-context.ts';
import { requireVerb } from '../stages/authorize.ts';

export const ignoreReadErrorsParameter = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** The verb that is required in addition to delete. */
const unsafeVerb = 'unsafe-delete-ignore-read-errors';

/**
 * Returns whether unreadable objects are deleted: requested, enabled and authorized. Without an authorizer the feature
 * is disabled, and the deletion is an ordinary one.
 */
export async function authorizeUnsafeDeletion(
  context: AuthenticatedContext,
  requested: boolean | undefined,
  authorizer: Authorizer | undefined,
): Promise<boolean> {
  if (!requested) return false;
  if (!authorizer) {
    addWarning(
      context,
      `${ignoreReadErrorsParameter} has no effect while the feature gate AllowUnsafeMalformedObjectDeletion is off`,
    );
    return false;
  }
  await requireVerb(
    authorizer,
    context,
    unsafeVerb,
    (reason) => `not permitted to do "${unsafeVerb}"${reason ? `, reason: ${reason}` : ''}`,
  );
  return true;
}
