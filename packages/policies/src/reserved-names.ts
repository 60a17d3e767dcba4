import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { invalid, invalidValue } from '@cluster-apiserver/model';
import { isOfAdmission } from './exempt.ts';
import { staticSuffix } from './static-objects.ts';

/** Nobody creates an object that could be taken for one of a file. It cannot be switched off. */
export const reservedNames: AdmissionPlugin = {
  name: 'ReservedNames',
  validate: ({ operation, resource, subresource, object }) => {
    const { name = '' } = object?.metadata ?? {};
    if (operation !== 'CREATE' || subresource !== undefined || !isOfAdmission(resource)) return undefined;
    if (!name.endsWith(staticSuffix)) return undefined;
    const problem = `names ending with ${JSON.stringify(staticSuffix)} are reserved for static manifest-based configurations and cannot be managed via the API`;
    throw invalid(resource, name, [invalidValue('metadata.name', name, problem)]);
  },
};
