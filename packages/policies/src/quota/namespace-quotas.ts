import { awaitWithin, type Call, Places } from '@cluster-apiserver/base';
import { type AdmissionContext, nameOf, type Precondition } from '@cluster-apiserver/gates';
import { isScoped, type ResourceQuota } from '@cluster-apiserver/kinds';
import { forbiddenResource, parseQuantity, type Quantity, quantityOfInt, StatusError } from '@cluster-apiserver/model';
import { fieldSubresourceOf, type KubeObject } from '@cluster-apiserver/model/kind';
import { type Outcome, type Resource, updateWithCreation } from '@cluster-apiserver/registry';
import { itemKey, textOfItemKey } from '@cluster-apiserver/storage';

type Amounts = Record<string, string>;

/** The quotas of one namespace, as this replica charges them: one creation after the other. */
export class NamespaceQuotas {
  readonly #namespace: string;
  readonly #quotas: Resource;
  readonly #idle: () => void;
  readonly #turns = new Places(1);
  /** What this replica has stored, which memory may not contain yet. */
  readonly #stored = new Map<string, Outcome>();

  /** `idle` is called when no creation is being charged. */
  constructor(namespace: string, quotas: Resource, idle: () => void) {
    this.#namespace = namespace;
    this.#quotas = quotas;
    this.#idle = idle;
  }

  /** The charges of all quotas that count one of the names, to be stored with the object. Throws if one has no room. */
  async charge(names: readonly string[], context: AdmissionContext): Promise<Precondition[] | undefined> {
    const leave = await this.#takeTurn(context.call);
    let isCharged = false;
    try {
      let quotas = this.#counting(names);
      if (quotas.some((quota) => findRefusal(quota, names, context))) {
        // What was stored by others may have made room.
        await this.#quotas.collection.waitUntilFresh(undefined, context.call);
        quotas = this.#counting(names);
      }
      for (const quota of quotas) {
        const refusal = findRefusal(quota, names, context);
        if (refusal) throw refusal;
      }
      if (quotas.length === 0 || context.dryRun) return undefined;
      const charges = await this.#chargesOf(quotas, names, context.call, leave);
      isCharged = true;
      return charges;
    } finally {
      if (!isCharged) leave();
    }
  }

  async #chargesOf(
    quotas: readonly Outcome[],
    names: readonly string[],
    call: Call,
    leave: () => void,
  ): Promise<Precondition[]> {
    const { kind } = this.#quotas;
    const options = {
      namespace: this.#namespace,
      subresource: fieldSubresourceOf(kind, 'status'),
      dryRun: false,
      manager: 'kube-apiserver',
      warn: () => {},
    };
    const updates = await Promise.all(
      quotas.map((current) => {
        const next = charged(asQuota(current), names);
        return updateWithCreation(this.#quotas, current, next, options, call);
      }),
    );
    const settled = (revision: number | undefined): void => {
      for (const update of updates)
        if (revision === undefined) this.#stored.delete(update.name);
        else this.#stored.set(update.name, update.written(revision));
      leave();
    };
    return updates.map(({ key, revision, value }, index) => ({
      key,
      revision,
      value,
      ...(index === 0 && { settled }),
    }));
  }

  /** Waits for the creations before this one, as long as its request does. */
  async #takeTurn(call: Call): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const leave = this.#turns.take(resolve);
    try {
      await awaitWithin(this.#quotas.clock, call, promise);
    } catch (error) {
      this.#leave(leave);
      throw error;
    }
    return () => this.#leave(leave);
  }

  #leave(leave: () => void): void {
    const isLast = !this.#turns.isCrowded;
    leave();
    if (isLast) this.#idle();
  }

  /** The latest known states of the quotas that count one of the names. */
  #counting(names: readonly string[]): readonly Outcome[] {
    const within = itemKey(`${this.#namespace}/`);
    const found: Outcome[] = [];
    this.#quotas.collection.view().items.visit(within, (item) => {
      if (!item.key.startsWith(within)) return false;
      if (item.unreadable)
        throw new StatusError('ServiceUnavailable', `the quota ${textOfItemKey(item.key)} cannot be read`, {
          retryAfterSeconds: 1,
        });
      const stored = this.#stored.get(nameOfQuota(item));
      const isNewer = stored?.revision !== undefined && stored.revision > item.revision;
      const latest: Outcome = isNewer ? stored : item;
      if (countedBy(asQuota(latest), names).length > 0) found.push(latest);
      return true;
    });
    return found;
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored objects were decoded by the schema of their kind
const asQuota = ({ object }: { readonly object: KubeObject }): ResourceQuota => object as ResourceQuota;

const nameOfQuota = ({ object }: { readonly object: KubeObject }): string => object.metadata.name ?? '';

/** The names that the quota limits. What it should limit does not count before a controller has said how much is used. */
function countedBy({ spec, status: { hard = {} } }: ResourceQuota, names: readonly string[]): readonly string[] {
  return isScoped(spec) ? [] : names.filter((name) => Object.hasOwn(hard, name));
}

const one = quantityOfInt(1n);
const amountOf = (text: string | undefined): Quantity | undefined =>
  text === undefined ? undefined : parseQuantity(text);

function charged(quota: ResourceQuota, names: readonly string[]): KubeObject {
  const used: Amounts = { ...quota.status.used };
  for (const name of countedBy(quota, names)) used[name] = String(amountOf(used[name])?.add(one));
  return { ...quota, status: { ...quota.status, used } };
}

function findRefusal(stored: Outcome, names: readonly string[], context: AdmissionContext): StatusError | undefined {
  const quota = asQuota(stored);
  const counted = countedBy(quota, names);
  const { hard = {}, used = {} } = quota.status;
  const name = nameOfQuota(stored);
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
