import type { Call } from '@cluster-apiserver/base';
import type { Integer, KubeObject, ServedKind, SpokenKind, UserInfo } from '@cluster-apiserver/model';

/**
 * The last check before a write: who may ask is settled, what is written is known. First plugins may change the object,
 * then the rules of its kind are checked, then plugins may refuse it. Nearly always nobody has to be waited for, and then
 * nothing is: only a plugin that really waits answers with a promise.
 */
export interface Admission {
  /** The object as the plugins want it written; undefined for a deletion, which a plugin can still refuse here. */
  mutate(context: AdmissionContext): KubeObject | undefined | Promise<KubeObject | undefined>;
  /**
   * What a creation relies on besides; throws the answer when a plugin refuses. May be asked again for the same write:
   * after a conflict, when a precondition does not hold, and before a refusal of what memory knew counts.
   */
  validate(context: AdmissionContext): readonly Precondition[] | Promise<readonly Precondition[]>;
}

/** A write that is about to happen, or a request that is answered without one (reviews, TokenRequests). */
export interface AdmissionContext {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** What the path of the request leads to, in the version that the client asked for. */
  readonly resource: ServedKind;
  readonly subresource: string | undefined;
  /**
   * The kind in whose form `object` and `oldObject` are: that of the resource, the stored kind where the resource is a
   * view of it, or the kind that a subresource speaks.
   */
  readonly kind: SpokenKind;
  /** Undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** Undefined for an object whose name is still to be generated. */
  readonly name: string | undefined;
  /** As it shall be stored; undefined in a deletion. */
  readonly object: KubeObject | undefined;
  /** As it is stored; undefined in a creation. */
  readonly oldObject: KubeObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly options: OperationOptions;
  readonly call: Call;
  /** True when plugins are asked a second time because a later one has changed the object. */
  readonly reinvocation: boolean;
  /** Adds a warning to the response. Each text is sent once. */
  warn(text: string): void;
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void;
}

/** By which name an answer speaks of the object. */
export const nameOf = ({ name, object }: AdmissionContext): string =>
  name || object?.metadata.name || object?.metadata.generateName || 'Unknown';

/** The options of the request, as the client sent them, in the form of meta.k8s.io/v1. */
export interface OperationOptions {
  readonly kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions' | 'DeleteOptions';
  readonly dryRun?: readonly string[] | undefined;
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: string | undefined;
  readonly force?: boolean | undefined;
  readonly gracePeriodSeconds?: Integer | undefined;
  readonly orphanDependents?: boolean | undefined;
  readonly propagationPolicy?: string | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
}

/**
 * What an admitted write relies on: a key of the store, and when that was last written. Once it has been written since,
 * the storage refuses the write, and admission is asked again. So nothing slips in after a decision.
 */
export interface Precondition {
  readonly key: string;
  readonly revision: number;
}

/** A plugin is asked before the rules of the kind, after them, or both. */
export interface AdmissionPlugin {
  readonly name: string;
  readonly mutate?: (context: AdmissionContext) => KubeObject | undefined | Promise<KubeObject | undefined>;
  readonly validate?: (context: AdmissionContext) => Precondition | undefined | Promise<Precondition | undefined>;
  /** It wants to see what later plugins have made of the object: then all are asked to mutate it once more. */
  readonly reinvocable?: boolean;
  /** Its own changes count like those of later plugins: it consists of several parts that see each other's. */
  readonly reinvokedByOwnChanges?: boolean;
}

/** Asks one plugin after the other, in their order. */
export function admission(plugins: readonly AdmissionPlugin[]): Admission {
  const mutators = plugins.flatMap(({ mutate, reinvocable = false, reinvokedByOwnChanges = false }) =>
    mutate ? [{ mutate, reinvocable, reinvokedByOwnChanges }] : [],
  );
  const validators = plugins.flatMap(({ validate }) => validate ?? []);
  const firstReinvocable = mutators.findIndex(({ reinvocable }) => reinvocable);

  /** `changed` is true once a plugin after the first reinvocable one has changed the object. */
  const mutatedFrom = (
    at: number,
    context: AdmissionContext,
    changed: boolean,
  ): KubeObject | undefined | Promise<KubeObject | undefined> => {
    let { object } = context;
    let again = changed;
    for (let next = at; next < mutators.length; next++) {
      const { mutate, reinvokedByOwnChanges } = mutators[next] as (typeof mutators)[number];
      const before = object;
      const mutated = mutate(object === context.object ? context : { ...context, object });
      const isLater = firstReinvocable >= 0 && (next > firstReinvocable || reinvokedByOwnChanges);
      if (mutated instanceof Promise)
        return mutated.then((waitedFor) =>
          mutatedFrom(next + 1, { ...context, object: waitedFor }, again || (isLater && waitedFor !== before)),
        );
      object = mutated;
      again ||= isLater && object !== before;
    }
    return again && !context.reinvocation ? mutatedFrom(0, { ...context, object, reinvocation: true }, false) : object;
  };
  const validatedFrom = (
    at: number,
    context: AdmissionContext,
    found: readonly Precondition[],
  ): readonly Precondition[] | Promise<readonly Precondition[]> => {
    const preconditions = [...found];
    for (let next = at; next < validators.length; next++) {
      const precondition = (validators[next] as NonNullable<AdmissionPlugin['validate']>)(context);
      if (precondition instanceof Promise)
        return precondition.then((waitedFor) =>
          validatedFrom(next + 1, context, [...preconditions, ...(waitedFor ? [waitedFor] : [])]),
        );
      if (precondition) preconditions.push(precondition);
    }
    return preconditions;
  };
  return {
    mutate: (context) => mutatedFrom(0, context, false),
    validate: (context) => validatedFrom(0, context, []),
  };
}
