import { awaitWithin, type Call, callUntil, Coalescer, requireValue, trackLatency } from '@cluster-apiserver/base';
import type { AdmissionContext, AdmittedCreation } from '@cluster-apiserver/gates';
import type { StatusError } from '@cluster-apiserver/model';
import type { Resource, StoredObject } from '@cluster-apiserver/registry';
import {
  CorruptValueError,
  KeyExistsError,
  PreconditionFailedError,
  WriteInDoubtError,
} from '@cluster-apiserver/storage';
import { ChargedBatch, type WaitingCreation } from './charged-batch.ts';
import { findFirstRefusal, quotasCounting } from './charges.ts';

/** After so many transactions in vain admission decides again: what it has relied on may have changed, too. */
const conflictsMax = 8;

/** How often a creation is compared with a quota in one event-loop iteration, where each takes some microseconds. */
const comparisonsMax = 1_000;

/** Stores the creations of one namespace with their charges: those that come during a transaction share the next one. */
export class NamespaceQuotas {
  readonly #namespace: string;
  readonly #quotas: Resource;
  readonly #idle: () => void;
  readonly #starts: Coalescer;
  #waiting: WaitingCreation[] = [];
  #isStoring = false;

  /** `idle` is called when no creation waits any more. */
  constructor(namespace: string, quotas: Resource, idle: () => void) {
    this.#namespace = namespace;
    this.#quotas = quotas;
    this.#idle = idle;
    this.#starts = new Coalescer(quotas.clock, () => void this.#storeWaiting());
  }

  /** Returns the revision. Throws if a quota has no room. */
  store(creation: AdmittedCreation, names: readonly string[], context: AdmissionContext): Promise<number> {
    const stored = new Promise<number>((resolve, reject) => {
      this.#waiting.push({ ...creation, names, context, resolve, reject, conflicts: 0 });
    });
    if (!this.#isStoring) this.#starts.request();
    const { call } = context;
    return trackLatency(call.latency, 'storage', awaitWithin(this.#quotas.clock, call, stored));
  }

  async #storeWaiting(): Promise<void> {
    this.#isStoring = true;
    try {
      const { collection } = this.#quotas;
      const call = callOf(this.#waiting);
      await collection.waitUntilFresh('any', call);
      let plan = this.#plan();
      if (plan.refused.size > 0) {
        // What was stored by others may have made room.
        await collection.waitUntilFresh(undefined, call);
        plan = this.#plan();
      }
      for (const [{ reject }, refusal] of plan.refused) reject(refusal);
      this.#waiting = plan.later;
      await Promise.all(plan.batches.map((batch) => this.#storeBatch(batch)));
    } catch (error) {
      for (const { reject } of this.#waiting.splice(0)) reject(error);
    }
    this.#isStoring = false;
    if (this.#waiting.length > 0) this.#starts.request();
    else this.#idle();
  }

  /** What is stored now. A name that may be taken is tried alone: that would fail those that share its transaction. */
  #plan() {
    const shared = new ChargedBatch();
    const alone: ChargedBatch[] = [];
    const refused = new Map<WaitingCreation, StatusError>();
    const later: WaitingCreation[] = [];
    const countingByNames = new Map<string, readonly StoredObject[]>();
    let comparisons = 0;
    for (const creation of this.#waiting) {
      const { names, context, mayBeTaken } = creation;
      if (context.call.isAborted) continue;
      if (comparisons > comparisonsMax) {
        later.push(creation);
        continue;
      }
      const key = names.join();
      const counting = countingByNames.get(key) ?? quotasCounting(this.#quotas, this.#namespace, names);
      countingByNames.set(key, counting);
      comparisons += counting.length;
      const refusal = findFirstRefusal(counting, names, context);
      const batch = mayBeTaken() ? new ChargedBatch() : shared;
      if (refusal) refused.set(creation, refusal);
      else if (!batch.add(creation, counting)) later.push(creation);
      else if (batch !== shared) alone.push(batch);
    }
    return { batches: shared.creations.length > 0 ? [shared, ...alone] : alone, refused, later };
  }

  async #storeBatch(batch: ChargedBatch): Promise<void> {
    const { store, collection } = this.#quotas;
    const { key, value, source } = requireValue(batch.creations[0], 'a batch is made of a creation');
    const call = callOf(batch.creations);
    try {
      const preconditions = await batch.preconditions(this.#quotas, this.#namespace, call);
      const { within } = batch;
      const revision = await store.create(key, value, { source, preconditions, within }, call);
      collection.noteLocalWrite(revision);
      for (const { resolve } of batch.creations) resolve(revision);
    } catch (error) {
      await this.#resolveFailure(batch, error, call).catch((cause: unknown) => rejectAll(batch, cause));
    }
  }

  /** Nothing was stored, unless the outcome is unknown. Those for which it may be different next time wait again. */
  async #resolveFailure(batch: ChargedBatch, error: unknown, call: Call): Promise<void> {
    const [first, ...others] = batch.creations;
    if (error instanceof KeyExistsError || error instanceof CorruptValueError) {
      first?.reject(error);
      this.#waiting.unshift(...others);
      return;
    }
    if (!(error instanceof PreconditionFailedError)) throw error;
    await this.#quotas.collection.waitUntilFresh(error.revision, call);
    const mayRepeat = batch.isOutdated(this.#quotas);
    const again = batch.creations.filter((creation) => mayRepeat && ++creation.conflicts < conflictsMax);
    for (const creation of batch.creations) if (!again.includes(creation)) creation.reject(error);
    this.#waiting.unshift(...again);
  }
}

function rejectAll({ creations }: ChargedBatch, error: unknown): void {
  for (const { key, reject } of creations)
    reject(error instanceof WriteInDoubtError ? new WriteInDoubtError(key, { cause: error }) : error);
}

/** The call of several creations: until the last one has no time any more. */
const callOf = (creations: readonly WaitingCreation[]): Call =>
  callUntil(
    Math.max(...creations.map(({ context }) => context.call.deadlineMs)),
    creations.find(({ context }) => context.call.trace)?.context.call.trace,
  );
