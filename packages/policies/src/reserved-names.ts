import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { invalid, Problems } from '@cluster-apiserver/model';
import { configuresAdmission } from './applicable-sources.ts';
import { staticSuffix } from './static-objects.ts';

/** Rejects new objects that could be mistaken for those from files. It cannot be disabled. */
export const reservedNames: AdmissionPlugin = {
  name: 'ReservedNames',
  validate: ({ operation, resource, subresource, object }) => {
    const { name = '' } = object?.metadata ?? {};
    if (operation !== 'CREATE' || subresource !== undefined || !configuresAdmission(resource)) return undefined;
    if (!name.endsWith(staticSuffix)) return undefined;
    const problem = `names ending with ${JSON.stringify(staticSuffix)} are reserved for static manifest-based configurations and cannot be managed via the API`;
    throw invalid(resource, name, new Problems().at('metadata', 'name').invalid(name, problem));
  },
};
