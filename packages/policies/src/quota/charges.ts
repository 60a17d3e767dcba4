import { type AdmissionContext, nameOf } from '@cluster-apiserver/gates';
import { isScoped, type ResourceQuota } from '@cluster-apiserver/kinds';
import { fieldSubresourceOf } from '@cluster-apiserver/model/kind';
import { forbiddenResource, parseQuantity, type Quantity, quantityOfInt, StatusError } from '@cluster-apiserver/model';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import { itemKey, textOfItemKey } from '@cluster-apiserver/storage';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored objects were decoded by the schema of their kind
export const asQuota = ({ object }: Pick<StoredObject, 'object'>): ResourceQuota => object as ResourceQuota;

/** How the status of a quota is written. */
export const statusOptions = (quotas: Resource, namespace: string) => ({
  namespace,
  subresource: fieldSubresourceOf(quotas.kind, 'status'),
  dryRun: false,
  manager: 'kube-apiserver',
  warn: () => {},
});

/** The quotas of a namespace that count one of the names, as memory has them. */
export function quotasCounting(
  { collection }: Resource,
  namespace: string,
  names: readonly string[],
): readonly StoredObject[] {
  const within = itemKey(`${namespace}/`);
  const found: StoredObject[] = [];
  collection.view().items.visit(within, (item) => {
    if (!item.key.startsWith(within)) return false;
    if (item.unreadable)
      throw new StatusError('ServiceUnavailable', `the quota ${textOfItemKey(item.key)} cannot be read`, {
        retryAfterSeconds: 1,
      });
    if (countedBy(asQuota(item), names).length > 0) found.push(item);
    return true;
  });
  return found;
}

/** With so many creations as share a transaction, they are fewer than the 128 operations that etcd accepts in one. */
export const chargesMax = 60;

/** Why these quotas do not let an object of these names be created. */
export function findFirstRefusal(
  quotas: readonly StoredObject[],
  names: readonly string[],
  context: AdmissionContext,
): StatusError | undefined {
  if (quotas.length > chargesMax)
    return forbiddenResource(
      context.resource,
      nameOf(context),
      `${quotas.length} quotas of the namespace count it, and at most ${chargesMax} may`,
    );
  for (const stored of quotas) {
    const refusal = findRefusal(asQuota(stored), names, context);
    if (refusal) return refusal;
  }
  return undefined;
}

/** The names that the quota limits. What it should limit does not count before a controller has said how much is used. */
function countedBy({ spec, status: { hard = {} } }: ResourceQuota, names: readonly string[]): readonly string[] {
  return isScoped(spec) ? [] : names.filter((name) => Object.hasOwn(hard, name));
}

/** The quota with one more object of these names. */
export function charged(quota: ResourceQuota, names: readonly string[]): ResourceQuota {
  const used: Record<string, string> = { ...quota.status.used };
  for (const name of countedBy(quota, names)) used[name] = String(amountOf(used[name])?.add(one));
  return { ...quota, status: { ...quota.status, used } };
}

/** Why the quota does not let an object of these names be created. */
export function findRefusal(
  quota: ResourceQuota,
  names: readonly string[],
  context: AdmissionContext,
): StatusError | undefined {
  const counted = countedBy(quota, names);
  const { hard = {}, used = {} } = quota.status;
  const { name } = quota.metadata;
  const refuse = (problem: string): StatusError => forbiddenResource(context.resource, nameOf(context), problem);
  const unknown = counted.filter((each) => !Object.hasOwn(used, each));
  if (unknown.length > 0) return refuse(`status unknown for quota: ${name}, resources: ${unknown.join(',')}`);
  const exceeded = counted.filter((each) => {
    const [most, sum] = [amountOf(hard[each]), amountOf(used[each])?.add(one)];
    return !most || !sum || sum.compare(most) > 0;
  });
  if (exceeded.length === 0) return undefined;
  const amounts = (of: (each: string) => string | undefined): string =>
    exceeded.map((each) => `${each}=${of(each)}`).join(',');
  return refuse(
    `exceeded quota: ${name}, requested: ${amounts(() => '1')}, used: ${amounts((each) => used[each])}, limited: ${amounts((each) => hard[each])}`,
  );
}

const one = quantityOfInt(1n);
const amountOf = (text: string | undefined): Quantity | undefined =>
  text === undefined ? undefined : parseQuantity(text);
