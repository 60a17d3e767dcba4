import { toSyncTask } from '@cluster-apiserver/base';
import type { AdmissionContext, AdmittedCreation } from '@cluster-apiserver/gates';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { patch, type Resource } from '@cluster-apiserver/registry';
import { asQuota, charged, findRefusal, quotasCounting, statusOptions } from './charges.ts';

export interface CountedCreation {
  readonly quotas: Resource;
  readonly namespace: string;
  /** What it counts for. */
  readonly names: readonly string[];
  readonly context: AdmissionContext;
}

/**
 * Stores a creation in another store than that of the quotas, which no transaction spans: the quotas are charged first, as in
 * kube-apiserver. The charge of a creation that fails stays until the next count.
 */
export async function storeElsewhere(
  creation: AdmittedCreation,
  { quotas, namespace, names, context }: CountedCreation,
): Promise<number> {
  const options = { ...statusOptions(quotas, namespace), unknownFields: () => {} };
  const charge = (object: KubeObject): object => {
    const quota = asQuota({ object });
    const refusal = findRefusal(quota, names, context);
    if (refusal) throw refusal;
    return charged(quota, names);
  };
  for (const { name } of quotasCounting(quotas, namespace, names))
    await patch(quotas, name, { ...options, change: toSyncTask(charge) }, context.call);
  return creation.storeAlone();
}
