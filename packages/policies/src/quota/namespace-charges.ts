import { awaitWithin, callUntil, type Clock, toSyncTask } from '@cluster-apiserver/base';
import { type AdmissionContext, nameOf, type Reservation } from '@cluster-apiserver/gates';
import type { ResourceQuota } from '@cluster-apiserver/kinds';
import { forbiddenResource, parseQuantity, type Quantity, quantityOfInt, StatusError } from '@cluster-apiserver/model';
import { fieldSubresourceOf, type KubeObject } from '@cluster-apiserver/model/kind';
import { type CachedObject, patch, type Resource } from '@cluster-apiserver/registry';
import { itemKey, textOfItemKey } from '@cluster-apiserver/storage';

/** An object that a client wants to create, and what it counts for. */
interface Charge {
  readonly names: readonly string[];
  readonly context: AdmissionContext;
  /** What was charged so far, by the name of the quota. */
  readonly charged: Map<string, readonly string[]>;
  /** Whether the write has ended without waiting for the charge. */
  isAbandoned: boolean;
  settle(refusal: unknown): void;
}

type Amounts = Record<string, string>;

/** Enough for every write that arrives while another one is stored, and a short step of the event loop. */
const batchMax = 100;
const updateMs = 10_000;

/** The charges of one namespace. Those that arrive while its quotas are written wait, and are written together. */
export class NamespaceCharges {
  readonly #namespace: string;
  readonly #quotas: Resource;
  readonly #clock: Clock;
  readonly #idle: () => void;
  readonly #waiting: Charge[] = [];
  /** What is to be given back, by the name of the quota. */
  readonly #returned = new Map<string, string[]>();
  #isRunning = false;

  /** `idle` is called when there is nothing left to do. */
  constructor(namespace: string, quotas: Resource, clock: Clock, idle: () => void) {
    this.#namespace = namespace;
    this.#quotas = quotas;
    this.#clock = clock;
    this.#idle = idle;
  }

  /** Charges all quotas that count the names. Throws the answer if one of them has no room. */
  async charge(names: readonly string[], context: AdmissionContext): Promise<Reservation | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const charge: Charge = {
      names,
      context,
      charged: new Map(),
      isAbandoned: false,
      settle: (refusal) => (refusal === undefined ? resolve() : reject(refusal)),
    };
    this.#waiting.push(charge);
    this.#start();
    try {
      await awaitWithin(this.#clock, context.call, promise);
    } catch (error) {
      charge.isAbandoned = true;
      throw error;
    }
    return charge.charged.size > 0 ? { release: () => this.#giveBack(charge) } : undefined;
  }

  #giveBack({ charged }: Charge): void {
    for (const [quota, names] of charged) this.#returned.set(quota, [...(this.#returned.get(quota) ?? []), ...names]);
    charged.clear();
    this.#start();
  }

  #start(): void {
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0 || this.#returned.size > 0) await this.#write(this.#waiting.splice(0, batchMax));
    this.#isRunning = false;
    this.#idle();
  }

  /** Never rejects: what goes wrong is the answer to the writes that wait. */
  async #write(batch: readonly Charge[]): Promise<void> {
    const refusals = new Map<Charge, unknown>();
    try {
      for (const name of this.#orderedFor(batch)) {
        const left = batch.filter((charge) => !refusals.has(charge));
        for (const [charge, refusal] of await this.#update(name, left)) refusals.set(charge, refusal);
      }
    } catch (error) {
      for (const charge of batch) if (!refusals.has(charge)) refusals.set(charge, error);
    }
    for (const charge of refusals.keys()) this.#giveBack(charge);
    // A refusal is answered when it leaves no trace.
    for (const name of [...this.#returned.keys()]) await this.#update(name, []).catch(() => {});
    for (const charge of batch) {
      if (charge.isAbandoned) this.#giveBack(charge);
      charge.settle(refusals.get(charge));
    }
  }

  /** The quotas with something to do. One that refuses comes first, so that no other is charged in vain. */
  #orderedFor(batch: readonly Charge[]): string[] {
    const within = itemKey(`${this.#namespace}/`);
    const refusing: string[] = [];
    const others: string[] = [];
    this.#quotas.collection.view().items.visit(within, (item: CachedObject) => {
      if (!item.key.startsWith(within)) return false;
      if (item.unreadable)
        throw new StatusError('ServiceUnavailable', `the quota ${textOfItemKey(item.key)} cannot be read`, {
          retryAfterSeconds: 1,
        });
      const quota = asQuota(item.object);
      const { name = '' } = quota.metadata;
      if (batch.some(({ names }) => countedBy(quota, names).length > 0))
        (batch.some((charge) => findRefusal(quota, quota.status.used ?? {}, charge)) ? refusing : others).push(name);
      return true;
    });
    return [...refusing, ...others];
  }

  /** Writes one quota: what is given back, and the charges that it has room for. Returns the refused ones. */
  async #update(name: string, batch: readonly Charge[]): Promise<ReadonlyMap<Charge, unknown>> {
    const returned = this.#returned.get(name) ?? [];
    this.#returned.delete(name);
    let refused = new Map<Charge, unknown>();
    let charged = new Map<Charge, readonly string[]>();
    const change = (current: KubeObject): object => {
      // Called again after another write: nothing of the last call counts.
      [refused, charged] = [new Map(), new Map()];
      const quota = asQuota(current);
      const used: Amounts = { ...quota.status.used };
      for (const counted of returned) add(used, counted, -1n);
      for (const charge of batch) {
        const names = countedBy(quota, charge.names);
        const refusal = findRefusal(quota, used, charge);
        if (refusal) refused.set(charge, refusal);
        if (refusal || names.length === 0 || charge.context.dryRun) continue;
        for (const counted of names) add(used, counted, 1n);
        charged.set(charge, names);
      }
      return { ...quota, status: { ...quota.status, used } };
    };
    const { kind } = this.#quotas;
    const options = {
      namespace: this.#namespace,
      subresource: fieldSubresourceOf(kind, 'status'),
      dryRun: false,
      manager: 'kube-apiserver',
      warn: () => {},
      unknownFields: () => {},
      change: toSyncTask(change),
    };
    try {
      await patch(this.#quotas, name, options, callUntil(this.#clock.monotonicMs() + updateMs));
    } catch (error) {
      if (error instanceof StatusError && error.reason === 'NotFound') return new Map();
      throw error;
    }
    for (const [charge, names] of charged) charge.charged.set(name, names);
    return refused;
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored objects were decoded by the schema of their kind
const asQuota = (object: KubeObject): ResourceQuota => object as ResourceQuota;

/** The names that the quota limits. What it should limit does not count before a controller has said how much is used. */
function countedBy({ spec, status: { hard = {} } }: ResourceQuota, names: readonly string[]): readonly string[] {
  // All scopes are about pods and volumes.
  if ((spec.scopes ?? []).length > 0 || (spec.scopeSelector?.matchExpressions ?? []).length > 0) return [];
  return names.filter((name) => Object.hasOwn(hard, name));
}

const one = quantityOfInt(1n);
const amountOf = (text: string | undefined): Quantity | undefined =>
  text === undefined ? undefined : parseQuantity(text);

function add(used: Amounts, name: string, count: bigint): void {
  const sum = amountOf(used[name])?.add(quantityOfInt(count));
  if (sum) used[name] = sum.units < 0n ? '0' : String(sum);
}

function findRefusal(
  quota: ResourceQuota,
  used: Readonly<Amounts>,
  { names, context }: Charge,
): StatusError | undefined {
  const counted = countedBy(quota, names);
  const { name = '' } = quota.metadata;
  const { hard = {} } = quota.status;
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
