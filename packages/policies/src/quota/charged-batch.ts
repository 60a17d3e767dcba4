import type { Call } from '@cluster-apiserver/base';
import type { AdmissionContext, AdmittedCreation } from '@cluster-apiserver/gates';
import type { ResourceQuota } from '@cluster-apiserver/kinds';
import { type Resource, type StoredObject, updateWithCreation } from '@cluster-apiserver/registry';
import type { Precondition } from '@cluster-apiserver/storage';
import { asQuota, charged, chargesMax, findRefusal, statusOptions } from './charges.ts';

/** A creation that waits to be stored together with its charges. */
export interface WaitingCreation extends AdmittedCreation {
  /** What it counts for. */
  readonly names: readonly string[];
  readonly context: AdmissionContext;
  readonly resolve: (revision: number) => void;
  readonly reject: (error: unknown) => void;
  /** In how many transactions a precondition did not hold. */
  conflicts: number;
}

const creationsMax = 50;
/** Far from the 1.5 MiB that etcd accepts, so that a large object does not delay many others. */
const bytesMax = 256 * 1024;

/** Creations that one transaction stores, with one charge of each quota. */
export class ChargedBatch {
  readonly creations: WaitingCreation[] = [];
  /** The quotas that count them, and their states with all charges. */
  readonly #charges = new Map<StoredObject, ResourceQuota>();
  /** The revisions at which keys must be: 0 for those of the creations. */
  readonly #expected = new Map<string, number>();
  #bytes = 0;

  /** Adds a creation that these quotas count. Returns false if it has to be stored in a later transaction. */
  add(creation: WaitingCreation, counting: readonly StoredObject[]): boolean {
    const { key, value, preconditions, names, context } = creation;
    const isFull = this.creations.length === creationsMax || this.#bytes + value.length > bytesMax;
    if (isFull && this.creations.length > 0) return false;
    if (this.#expected.has(key)) return false;
    // One of the two was admitted by an old state.
    if (preconditions.some((one) => (this.#expected.get(one.key) ?? one.revision) !== one.revision)) return false;
    const added = counting.filter((stored) => !this.#charges.has(stored)).length;
    if (this.#charges.size + added > chargesMax) return false;
    const charges = counting.map((stored) => [stored, this.#charges.get(stored) ?? asQuota(stored)] as const);
    // Those before it may fail, so it is not refused yet.
    if (charges.some(([, quota]) => findRefusal(quota, names, context))) return false;
    for (const [stored, quota] of charges) this.#charges.set(stored, charged(quota, names));
    for (const one of preconditions) this.#expected.set(one.key, one.revision);
    this.#expected.set(key, 0);
    this.#bytes += value.length;
    this.creations.push(creation);
    return true;
  }

  /** What its creations are parts of, and another store has. */
  get within(): readonly string[] {
    return [...new Set(this.creations.flatMap(({ within }) => within))];
  }

  /** What the first creation is stored with: the charges and the other creations. */
  async preconditions(quotas: Resource, namespace: string, call: Call): Promise<readonly Precondition[]> {
    const options = statusOptions(quotas, namespace);
    const charges = await Promise.all(
      Array.from(this.#charges, ([stored, next]) => updateWithCreation(quotas, stored, next, options, call)),
    );
    const [first, ...others] = this.creations;
    const created = new Map(others.map(({ key, value }) => [key, value]));
    const conditions = Array.from(this.#expected, ([key, revision]) => ({ key, revision, value: created.get(key) }));
    return [...charges, ...conditions.filter(({ key }) => key !== first?.key)];
  }

  /** Whether memory shows why a precondition does not hold: another attempt, or another batch, may succeed. */
  isOutdated({ collection }: Resource): boolean {
    return (
      [...this.#charges.keys()].some(({ key, revision }) => collection.get(key)?.revision !== revision) ||
      this.creations.slice(1).some(({ mayBeTaken }) => mayBeTaken())
    );
  }
}
