import { type Call, chain, firstOf } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Integer } from '@cluster-apiserver/model/json';
import type { KubeObject, ServedKind, EncodableKind } from '@cluster-apiserver/model/kind';

/**
 * The last check of a write, after authorization. First plugins may change the object, then it is validated by the rules
 * of its kind, then plugins may reject it. A plugin returns a promise only if it really has to wait, which is rare: so most
 * writes pass all plugins within one event-loop iteration.
 */
export interface Admission {
  /** The object as the plugins have changed it; undefined for a deletion, which a plugin may already reject here. */
  readonly mutate: (context: AdmissionContext) => KubeObject | undefined | Promise<KubeObject | undefined>;
  /**
   * What a creation depends on; throws the answer if a plugin rejects the write. It may be called again for the same
   * write: after a conflict, when a precondition does not hold, and before a rejection that was decided from memory counts.
   */
  readonly validate: (context: AdmissionContext) => Admitted | Promise<Admitted>;
}

/** A write that is about to happen, or a request that writes nothing but passes admission (reviews, TokenRequests). */
export interface AdmissionContext {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** The resource of the request's path, in the version of the request. */
  readonly resource: ServedKind;
  readonly subresource: string | undefined;
  /**
   * The kind of `object` and `oldObject`: that of the resource, the stored kind if the resource is a view of it, or the
   * kind of the subresource.
   */
  readonly kind: EncodableKind;
  /** Undefined for cluster-scoped kinds. */
  readonly namespace: string | undefined;
  /** Undefined for an object whose name is still to be generated. */
  readonly name: string | undefined;
  /** As it will be stored; undefined in a deletion. */
  readonly object: KubeObject | undefined;
  /** As it is stored; undefined in a creation. */
  readonly oldObject: KubeObject | undefined;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  readonly options: OperationOptions;
  readonly call: Call;
  /** True when plugins are called a second time because a later one has changed the object. */
  readonly reinvocation: boolean;
  /** Adds a warning to the response. Each text is sent once. */
  warn(text: string): void;
  /** Adds an annotation to the audit event of the request. */
  annotate(key: string, value: string): void;
}

/** The name of the object in answers. */
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
 * A key of the store that an admitted write relies on, and the revision of its last change. If it has changed since, the
 * storage refuses the write, and admission decides again: so no write is stored on the basis of an old decision.
 */
export interface Precondition {
  readonly key: string;
  readonly revision: number;
  /** The object at the key. */
  readonly whole?: Whole;
}

/** An object that others are parts of. A store that does not have it cannot compare it: it only knows that it was ended. */
export interface Whole {
  readonly uid: string;
  /** That of the store that has it. */
  readonly feed: object;
  /** Resolves when memory has caught up with all earlier writes of that store. */
  refresh(call: Call): Promise<void>;
}

/** A creation as the storage takes it. */
export interface AdmittedCreation {
  readonly key: string;
  readonly value: Buffer;
  /** What the value was encoded from. */
  readonly source: object | undefined;
  readonly preconditions: readonly Precondition[];
  /** The uids of what it is a part of, and another store has. */
  readonly within: readonly string[];
  /** Whether memory has an object of that name, or cannot know. */
  readonly mayBeTaken: () => boolean;
  /** Of the store that it is for. */
  readonly feed: object;
  /** Stores it alone. */
  readonly storeAlone: () => Promise<number>;
}

/**
 * Stores a creation together with what counts it, and returns its revision. It fails like the storage, or with the answer
 * of a plugin that rejects the write after all.
 */
export type StoreCreation = (creation: AdmittedCreation) => Promise<number>;

/** How an admitted creation is stored: under these preconditions, and by `store` in place of the storage. */
export interface Admitted {
  readonly preconditions: readonly Precondition[];
  readonly store?: StoreCreation | undefined;
}

/** What a plugin makes the creation depend on. */
export type Validated = Precondition | StoreCreation | undefined;

/** A plugin is called before the object is validated, after that, or both. */
export interface AdmissionPlugin {
  readonly name: string;
  readonly mutate?: (context: AdmissionContext) => KubeObject | undefined | Promise<KubeObject | undefined>;
  readonly validate?: (context: AdmissionContext) => Validated | Promise<Validated>;
  /** Whether all plugins mutate the object once more if a later one has changed it. */
  readonly reinvocable?: boolean;
  /** Whether its own changes count as those of a later plugin: it consists of parts that react to each other. */
  readonly reinvokedByOwnChanges?: boolean;
}

/** Calls one plugin after the other, in their order. */
export function createAdmission(plugins: readonly AdmissionPlugin[]): Admission {
  const mutators = plugins.flatMap(({ mutate, reinvocable = false, reinvokedByOwnChanges = false }) =>
    mutate ? [{ mutate, reinvocable, reinvokedByOwnChanges }] : [],
  );
  const validators = plugins.flatMap(({ validate }) => validate ?? []);
  const firstReinvocable = mutators.findIndex(({ reinvocable }) => reinvocable);

  const mutate = (context: AdmissionContext): KubeObject | undefined | Promise<KubeObject | undefined> => {
    let { object } = context;
    /** Whether a plugin after the first reinvocable one has changed the object. */
    let hasChanged = false;
    const done = firstOf(mutators, ({ mutate: change, reinvokedByOwnChanges }, index) =>
      chain(change(object === context.object ? context : { ...context, object }), (changed) => {
        const isLater = firstReinvocable >= 0 && (index > firstReinvocable || reinvokedByOwnChanges);
        hasChanged ||= isLater && changed !== object;
        object = changed;
        return undefined;
      }),
    );
    return chain(done, () =>
      hasChanged && !context.reinvocation ? mutate({ ...context, object, reinvocation: true }) : object,
    );
  };
  return {
    mutate,
    validate: (context) => {
      const preconditions: Precondition[] = [];
      let store: StoreCreation | undefined;
      const take = (found: Validated): undefined => {
        if (typeof found === 'function') store = found;
        else if (found) preconditions.push(found);
      };
      const done = firstOf(validators, (validate) => chain(validate(context), take));
      return chain(done, () => ({ preconditions, store }));
    },
  };
}
