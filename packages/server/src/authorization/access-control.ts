import type { CleanupStack } from '@cluster-apiserver/base';
import { type Admission, type Authorizer, uniteAuthorizers } from '@cluster-apiserver/gates';
import { openAdmission } from '../admission/admission.ts';
import { openAuthorization } from './authorization.ts';
import type { ServerContext } from '../configuration/context.ts';
import { openParamRights } from '../admission/param-rights.ts';
import { openRbac, type Rbac } from './rbac.ts';
import type { ServedResources } from '../api/served-resources.ts';

/** Authorization and admission. They are opened together because admission plugins require authorizers. */
export interface AccessControl {
  readonly authorizer: Required<Authorizer>;
  readonly admission: Admission;
  /** Undefined if roles and bindings are not served. */
  readonly rbac: Rbac | undefined;
}

export async function openAccessControl(
  context: ServerContext,
  served: ServedResources,
  cleanup: CleanupStack,
): Promise<AccessControl> {
  const { clock, random } = context.environment;
  const rbac = openRbac({ ...context, ...served, clock, random }, cleanup);
  const { forRequests, forAdmission } = await openAuthorization(
    { ...context, rbac: rbac?.authorizer ?? uniteAuthorizers([]) },
    cleanup,
  );
  const always = [
    ...(rbac ? [rbac.createEscalationCheck(forRequests)] : []),
    ...openParamRights(served.api, forAdmission),
  ];
  const { api, namespaces } = served;
  const admission = await openAdmission(context, { api, namespaces, authorizer: forAdmission, always }, cleanup);
  return { authorizer: forRequests, admission, rbac };
}
