/**
 * The policies of one type with their bindings, compiled, as the watch cache has them. A change is compiled in the
 * background, in steps; what did not change is kept. A write waits for what is being compiled, and for the policies that
 * this replica has acknowledged: so a policy is in force on the replica that wrote it as soon as the writer knows.
 */
import { type Call, type Clock, inOneStep, perform, type Steps } from '@cluster-apiserver/base';
import { type KubeObject, StatusError } from '@cluster-apiserver/model';
import type { Cached, Resource } from '@cluster-apiserver/registry';
import { textOfKey } from '@cluster-apiserver/storage';
import { bindPolicies } from './bind-policies.ts';

/** A policy with its bindings. */
export interface ActivePolicy<Policy, Binding> {
  readonly policy: Policy;
  readonly bindings: readonly Binding[];
}

export interface FollowPoliciesOptions<Policy, Binding> {
  readonly policies: Resource;
  readonly bindings: Resource;
  readonly compilePolicy: (object: KubeObject) => Steps<Policy>;
  readonly compileBinding: (object: KubeObject) => Binding;
  readonly clock: Clock;
  /** What went wrong in compiling all of them. It is tried again. */
  readonly failed: (error: unknown) => void;
}

export interface FollowedPolicies<Policy, Binding> {
  /** Undefined, or resolves, when `current` has what a write has to obey. Throws while nothing is known. */
  settle(call: Call): Promise<void> | undefined;
  /** In the order of their names; empty while none has a binding. */
  readonly current: readonly ActivePolicy<Policy, Binding>[];
  close(): void;
}

/** Compiling fails by a fault of ours only, and may do so again. */
const retryDelayMs = 1_000;

export function followPolicies<
  Policy extends { readonly name: string },
  Binding extends { readonly policyName: string },
>({
  policies,
  bindings,
  compilePolicy,
  compileBinding,
  clock,
  failed,
}: FollowPoliciesOptions<Policy, Binding>): FollowedPolicies<Policy, Binding> {
  const compiledPolicies = new CompiledObjects(policies, compilePolicy);
  const compiledBindings = new CompiledObjects(bindings, inOneStep(compileBinding));
  let active: readonly ActivePolicy<Policy, Binding>[] = [];
  let unreadable: string | undefined;
  /** The changes that have come, and those that are compiled. */
  let [changes, compiledChanges] = [0, 0];
  let round: Promise<void> | undefined;
  let cancelRetry: (() => void) | undefined;
  let isClosed = false;

  function* compileAll(): Steps<void> {
    const upTo = changes;
    const allPolicies = yield* compiledPolicies.refresh();
    const allBindings = yield* compiledBindings.refresh();
    active = bindPolicies(allPolicies, allBindings);
    unreadable = compiledPolicies.unreadable ?? compiledBindings.unreadable;
    compiledChanges = upTo;
  }
  const startRound = (): void => {
    cancelRetry?.();
    round = perform(clock, undefined, compileAll(), true) as Promise<void>; // large work is never done at once
    round.then(
      () => {
        round = undefined;
        if (compiledChanges < changes && !isClosed) startRound();
      },
      (error: unknown) => {
        round = undefined;
        failed(error);
        if (!isClosed) cancelRetry = clock.after(retryDelayMs, startRound);
      },
    );
  };
  const changed = (): void => {
    changes++;
    if (!round && !isClosed) startRound();
  };
  const stops = [policies, bindings].map(({ collection }) => collection.follow({ changed, interrupted: changed }));
  changed();

  const requireReadable = (): void => {
    if (unreadable === undefined) return;
    throw new StatusError(
      'ServiceUnavailable',
      `no writes are admitted while a stored admission policy cannot be read: ${unreadable}`,
      { retryAfterSeconds: 1 },
    );
  };
  const settleLater = async (call: Call): Promise<void> => {
    await policies.collection.reach('any', call);
    const upTo = changes;
    while (compiledChanges < upTo && !isClosed) {
      if (!round) startRound();
      await round;
    }
    requireReadable();
  };
  return {
    settle: (call) => {
      const isKnown = policies.collection.knowsLocalWrites && bindings.collection.knowsLocalWrites;
      if (!isKnown || compiledChanges < changes) return settleLater(call);
      requireReadable();
      return undefined;
    },
    get current() {
      return active;
    },
    close: () => {
      isClosed = true;
      cancelRetry?.();
      for (const stop of stops) stop();
    },
  };
}

interface Version<Compiled> {
  readonly item: Cached;
  readonly compiled: Compiled;
}

/** Objects of one kind, compiled. Each version of an object is compiled once. */
class CompiledObjects<Compiled> {
  readonly #resource: Resource;
  readonly #compile: (object: KubeObject) => Steps<Compiled>;
  #byKey = new Map<string, Version<Compiled>>();
  /** One that is stored and has not been read since this replica began, if there is one. */
  unreadable: string | undefined;

  constructor(resource: Resource, compile: (object: KubeObject) => Steps<Compiled>) {
    this.#resource = resource;
    this.#compile = compile;
  }

  /** All of them, in the order of their names. */
  *refresh(): Steps<readonly Compiled[]> {
    const items: Cached[] = [];
    this.#resource.collection.view().items.visit('', (item) => items.push(item) > 0);
    const next = new Map<string, Version<Compiled>>();
    let unreadable: string | undefined;
    for (const item of items) {
      const known = this.#byKey.get(item.key);
      // What it said before holds until it can be read again: nobody escapes from a policy by a key that is lost.
      if (known && (known.item === item || item.unreadable)) next.set(item.key, known);
      else if (item.unreadable) unreadable ??= `${this.#resource.kind.plural}/${textOfKey(item.key)}`;
      else next.set(item.key, { item, compiled: yield* this.#compile(item.object) });
      yield;
    }
    this.#byKey = next;
    this.unreadable = unreadable;
    return [...next.values()].map(({ compiled }) => compiled);
  }
}
