import type { CleanupStack } from '@cluster-apiserver/base';
import { type Admission, type Authorizer, uniteAuthorizers } from '@cluster-apiserver/gates';
import { openAdmission } from '../admission/admission-plugins.ts';
import type { AdmissionSettings } from '../admission/admission-settings.ts';
import type { AuthorizationSettings } from './authorization-settings.ts';
import { openAuthorization } from './authorizers.ts';
import type { ServerContext } from '../configuration/context.ts';
import { createParamRightsPlugins } from '../admission/param-rights.ts';
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
  settings: { readonly authorization: AuthorizationSettings; readonly admission: AdmissionSettings },
  { api, namespaces, filled }: ServedResources,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<AccessControl> {
  const rbac = openRbac(api, filled, context, cleanup);
  const { forRequests, forAdmission } = await openAuthorization(
    settings.authorization,
    rbac?.authorizer ?? uniteAuthorizers([]),
    context,
    cleanup,
  );
  const always = [
    ...(rbac ? [rbac.createEscalationCheck(forRequests)] : []),
    ...createParamRightsPlugins(api, forAdmission),
  ];
  const admission = await openAdmission(
    settings.admission,
    { api, namespaces, authorizer: forAdmission, always },
    context,
    cleanup,
  );
  return { authorizer: forRequests, admission, rbac };
}
