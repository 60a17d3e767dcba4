import type { Call } from '@cluster-apiserver/base';
import type { Kind, KubeObject, UserInfo } from '@cluster-apiserver/model';

/**
 * The last door before a write: who may ask is settled, what is written is known. First plugins may change the object,
 * then the rules of its kind are asked, then plugins may refuse it. Nearly always nobody has to be waited for, and then
 * nothing is: only a plugin that really waits answers with a promise.
 */
export interface Admission {
  /** The object as the plugins want it written. There is none in a deletion. */
  mutate(attempt: Attempt): KubeObject | undefined | Promise<KubeObject | undefined>;
  /**
   * What a creation relies on besides; throws the answer when a plugin refuses. May be asked again for the same write:
   * after a conflict, when a premise does not hold, and before a refusal of what memory knew counts.
   */
  validate(attempt: Attempt): readonly Premise[] | Promise<readonly Premise[]>;
}

/** A write that is about to happen. */
export interface Attempt {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** As clients see it, which for a view is not the kind that is stored. */
  readonly kind: Kind;
  readonly subresource: string | undefined;
  /** Undefined for kinds that lie in no namespace. */
  readonly namespace: string | undefined;
  /** Undefined for an object whose name is still to be generated. */
  readonly name: string | undefined;
  /** As it shall be stored; undefined in a deletion. */
  readonly object: KubeObject | undefined;
  /** As it is stored; undefined in a creation. */
  readonly oldObject: KubeObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly call: Call;
}

/**
 * What the leave to write rests on: a key of the store, and when that was last written. Once it has been written since,
 * the storage refuses the write, and leave is asked for again. So nothing slips in behind a decision.
 */
export interface Premise {
  readonly key: string;
  readonly revision: number;
}

/** A plugin has a say before the rules of the kind, behind them, or both. */
export interface AdmissionPlugin {
  readonly name: string;
  readonly mutate?: (attempt: Attempt) => KubeObject | undefined | Promise<KubeObject | undefined>;
  readonly validate?: (attempt: Attempt) => Premise | undefined | Promise<Premise | undefined>;
}

/** Asks one plugin after the other, in their order. */
export function admission(plugins: readonly AdmissionPlugin[]): Admission {
  const mutators = plugins.flatMap(({ mutate }) => mutate ?? []);
  const validators = plugins.flatMap(({ validate }) => validate ?? []);

  const mutatedFrom = (at: number, attempt: Attempt): KubeObject | undefined | Promise<KubeObject | undefined> => {
    let { object } = attempt;
    for (let next = at; next < mutators.length; next++) {
      const mutated = (mutators[next] as NonNullable<AdmissionPlugin['mutate']>)({ ...attempt, object });
      if (mutated instanceof Promise)
        return mutated.then((waitedFor) => mutatedFrom(next + 1, { ...attempt, object: waitedFor }));
      object = mutated;
    }
    return object;
  };
  const validatedFrom = (
    at: number,
    attempt: Attempt,
    found: readonly Premise[],
  ): readonly Premise[] | Promise<readonly Premise[]> => {
    const premises = [...found];
    for (let next = at; next < validators.length; next++) {
      const premise = (validators[next] as NonNullable<AdmissionPlugin['validate']>)(attempt);
      if (premise instanceof Promise)
        return premise.then((waitedFor) =>
          validatedFrom(next + 1, attempt, [...premises, ...(waitedFor ? [waitedFor] : [])]),
        );
      if (premise) premises.push(premise);
    }
    return premises;
  };
  return {
    mutate: (attempt) => mutatedFrom(0, attempt),
    validate: (attempt) => validatedFrom(0, attempt, []),
  };
}
