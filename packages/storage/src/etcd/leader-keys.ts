/**
 * The two keys of a leader. A candidate creates both with its lease in one transaction, so no other one begins to lead while
 * one of them exists.
 *
 * Operators know the first key, and may overwrite or delete it. The second one still shows then that the lease exists. It
 * keeps the candidates away until the leader has noticed and stopped, or until its lease has expired.
 */
import type { EtcdClient } from './client.ts';
import type { EtcdCall } from './retrying-call.ts';
import { conditionalWrite, type KeyValue, range } from './wire/key-value.ts';

export class LeaderKeys {
  readonly #client: EtcdClient;
  readonly #keys: readonly [string, string];

  constructor(client: EtcdClient, key: string) {
    this.#client = client;
    this.#keys = [key, `${key}-term`];
  }

  /** Returns those that exist. */
  async read(call: EtcdCall): Promise<readonly KeyValue[]> {
    const responses = await Promise.all(this.#keys.map((key) => this.#client.call(range, { key }, call)));
    return responses.flatMap(({ values }) => values);
  }

  /** Returns their revision, or undefined if one of them existed. */
  async create(identity: string, lease: number, call: EtcdCall): Promise<number | undefined> {
    const [key, ...others] = this.#keys;
    const value = [Buffer.from(identity)];
    const creation = {
      key,
      expected: 0,
      value,
      lease,
      others: others.map((other) => ({ key: other, revision: 0, value })),
    };
    const { applied, header } = await this.#client.call(conditionalWrite, creation, call);
    return applied ? header.revision : undefined;
  }

  /** Whether no client has written or deleted them since they were created at this revision. */
  async areUnchanged(revision: number, call: EtcdCall): Promise<boolean> {
    const found = await this.read(call);
    return found.length === this.#keys.length && found.every(({ modRevision }) => modRevision === revision);
  }

  /** Deletes one of them unless it has changed meanwhile. Returns whether it was deleted. */
  async remove({ key, modRevision }: KeyValue, call: EtcdCall): Promise<boolean> {
    const removal = { key, expected: modRevision, value: undefined, lease: 0 };
    return (await this.#client.call(conditionalWrite, removal, call)).applied;
  }
}
