/**
 * Updates or deletes a key at most once. The expected revision never returns, so retrying is harmless. But if an attempt
 * without a response may have been applied and the revision no longer matches, the value does not show who has changed it:
 * others may write the same bytes. So each write also writes a receipt, to a key that many writers share. At the revision
 * of the write the receipt identifies the writer.
 */
import { StorageFullError, StorageUnavailableError, WriteInDoubtError } from '../errors.ts';
import {
  acquireLease,
  leaseLossesMax,
  readCurrent,
  type Write,
  type WriteDependencies,
  type WriteOutcome,
} from './conditional-write.ts';
import { isLeaseMissing } from './faults.ts';
import { findEvent } from './key-history.ts';
import { AttemptRecord, type EtcdCall } from './retrying-call.ts';
import { conditionalWrite, type KeyValue, type Receipt, range } from './wire/key-value.ts';

export const replaceOnce = (
  dependencies: WriteDependencies,
  write: Write,
  receipt: Receipt,
  call: EtcdCall,
): Promise<WriteOutcome> => new Replacement(dependencies, write, receipt, call).run();

class Replacement {
  readonly #dependencies: WriteDependencies;
  readonly #write: Write;
  readonly #receipt: Receipt;
  /** Every attempt can only be applied after this revision. */
  #knownRevision = 0;
  readonly #call: EtcdCall;
  readonly #attemptsWithReceipt = new AttemptRecord();
  readonly #attemptsWithoutReceipt = new AttemptRecord();
  #hasReceipt = true;

  constructor(dependencies: WriteDependencies, write: Write, receipt: Receipt, call: EtcdCall) {
    this.#dependencies = dependencies;
    this.#write = write;
    this.#receipt = receipt;
    this.#call = call;
  }

  async run(): Promise<WriteOutcome> {
    const { client, leases } = this.#dependencies;
    this.#knownRevision = client.history.revision || (await client.readLatestRevision(this.#call));
    for (let leaseLosses = 0; ; ) {
      let lease = 0;
      try {
        lease = await acquireLease(leases, this.#write, this.#call);
        const { applied, header, current } = await client.call(
          conditionalWrite,
          { ...this.#write, lease, receipt: this.#hasReceipt ? this.#receipt : undefined },
          { ...this.#call, attempts: this.#hasReceipt ? this.#attemptsWithReceipt : this.#attemptsWithoutReceipt },
        );
        if (applied) return { applied, revision: header.revision };
        if (!this.#isMaybeApplied) return { applied, current };
        return await this.#findWinner(current);
      } catch (error) {
        // All attempts have the same receipt, so it does not matter which of them is applied.
        if (isLeaseMissing(error) && leaseLosses++ < leaseLossesMax) leases.forget(lease);
        else if (error instanceof StorageFullError) {
          const outcome = await this.#resolveWhenFull(error);
          if (outcome) return outcome;
        } else if (this.#isMaybeApplied) return await this.#resolveAfterError(error);
        else throw error;
      }
    }
  }

  get #isMaybeApplied(): boolean {
    return this.#attemptsWithReceipt.maybeApplied || this.#attemptsWithoutReceipt.maybeApplied;
  }

  /**
   * etcd is out of space, and refuses a receipt too. A deletion, which frees space, is retried without one: then this returns
   * undefined.
   */
  async #resolveWhenFull(refusal: StorageFullError): Promise<WriteOutcome | undefined> {
    const { key, value, expected } = this.#write;
    const mayDropReceipt = this.#hasReceipt && !value;
    if (!this.#isMaybeApplied) {
      const current = await readCurrent(this.#dependencies.client, { key, value, expected }, this.#call);
      // etcd gives this error also to a write that it has applied.
      if (!current || current.modRevision > expected) return this.#resolveAfterError(refusal);
      if (!mayDropReceipt) throw refusal;
    } else if (!mayDropReceipt) return this.#resolveAfterError(refusal);
    this.#hasReceipt = false;
    return undefined;
  }

  /** The first write after the expected revision has won: all others failed their condition. */
  async #findWinner(current: KeyValue | undefined): Promise<WriteOutcome> {
    const { client } = this.#dependencies;
    const { key, expected } = this.#write;
    const search = { after: expected, compactableTo: this.#knownRevision };
    const first = await findEvent(client, { key }, search, () => true, this.#call);
    const { modRevision } = first.current;
    const request = { key: this.#receipt.key, revision: modRevision };
    const [found] = (await client.call(range, request, this.#call)).values;
    if (found?.modRevision === modRevision && found.value.toString() === this.#receipt.value)
      return { applied: true, revision: modRevision };
    if (this.#attemptsWithoutReceipt.maybeApplied && first.deleted) throw new WriteInDoubtError(key);
    return { applied: false, current };
  }

  /** The last attempt failed, and an earlier one may have been applied. */
  async #resolveAfterError(error: unknown): Promise<WriteOutcome> {
    // An unavailable etcd cannot tell the outcome.
    if (error instanceof StorageUnavailableError) throw this.#inDoubt(error);
    const { key, expected } = this.#write;
    try {
      const [current] = (await this.#dependencies.client.call(range, { key }, this.#call)).values;
      // An attempt may still be in the buffers of a member.
      if (current?.modRevision === expected) throw this.#inDoubt(error);
      return await this.#findWinner(current);
    } catch (cause) {
      throw this.#inDoubt(cause);
    }
  }

  #inDoubt(cause: unknown): WriteInDoubtError {
    return cause instanceof WriteInDoubtError ? cause : new WriteInDoubtError(this.#write.key, { cause });
  }
}
