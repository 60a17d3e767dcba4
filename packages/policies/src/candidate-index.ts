import type { SyncTask } from '@cluster-apiserver/base';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { ClusterState } from './cluster-state.ts';
import type { Matcher } from './matching.ts';
import { PolicyRequest } from './request.ts';

/**
 * Which policies, or webhooks, of one list can match a request, by its resource, subresource, operation and scope. An
 * entry is made by the first such request, so there are only as many as the server serves combinations.
 */
export class CandidateIndex<One> {
  readonly #all: readonly One[];
  readonly #matcherOf: (one: One) => Matcher;
  /** By the version of a kind, which is another object after the kind was replaced. */
  readonly #entries = new WeakMap<ServedKind, Candidates<One>[]>();

  constructor(all: readonly One[], matcherOf: (one: One) => Matcher) {
    this.#all = all;
    this.#matcherOf = matcherOf;
  }

  /** The candidates in their order; undefined if they are not collected yet. */
  find({ resource, subresource, operation, namespace }: AdmissionContext): readonly One[] | undefined {
    const entries = this.#entries.get(resource);
    if (!entries) return undefined;
    const isNamespaced = namespace !== undefined;
    for (const entry of entries)
      if (entry.operation === operation && entry.subresource === subresource && entry.isNamespaced === isNamespaced)
        return entry.candidates;
    return undefined;
  }

  *collect(context: AdmissionContext, cluster: ClusterState): SyncTask<readonly One[]> {
    const request = new PolicyRequest(context, cluster);
    const candidates: One[] = [];
    for (const one of this.#all) {
      if (this.#matcherOf(one).canMatch(request)) candidates.push(one);
      yield;
    }
    // Another request of the same kind may have been faster.
    return this.find(context) ?? this.#add(context, candidates);
  }

  #add({ resource, subresource, operation, namespace }: AdmissionContext, candidates: readonly One[]): readonly One[] {
    const entries = this.#entries.get(resource) ?? [];
    entries.push({ operation, subresource, isNamespaced: namespace !== undefined, candidates });
    this.#entries.set(resource, entries);
    return candidates;
  }
}

interface Candidates<One> {
  readonly operation: AdmissionContext['operation'];
  readonly subresource: string | undefined;
  readonly isNamespaced: boolean;
  readonly candidates: readonly One[];
}
