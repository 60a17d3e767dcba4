import { awaitValue, invariant, type Task } from '@cluster-apiserver/base';
import {
  type AdmissionValues,
  type Bindings,
  createAdmissionValues,
  Budget,
  fromApiJson,
  requestStepsMax,
  type Value,
} from '@cluster-apiserver/expressions';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { KubeObject, ServedKind } from '@cluster-apiserver/model/kind';
import { type JsonPatch, applyJsonPatch } from '@cluster-apiserver/model/patch';
import { decode, type ObjectSchema, WrongTypeError } from '@cluster-apiserver/model/schema';
import type { ClusterState } from './cluster-state.ts';

export { nameOf } from '@cluster-apiserver/gates';

/** A write as expressions and webhooks see it. Values are computed lazily and cached. */
export class PolicyRequest {
  readonly context: AdmissionContext;
  /** Shared by the expressions of all policies. */
  readonly budget: Budget;
  readonly #cluster: ClusterState;
  /** The objects of the request in the versions for which they were converted by a webhook. */
  #converted: Map<ServedKind, Map<KubeObject, KubeObject>> | undefined;
  #namespace: KubeObject | undefined;
  /** By the resource of the version of the objects; without parameters. */
  #values: Map<ServedKind, Bindings> | undefined;

  constructor(context: AdmissionContext, cluster: ClusterState, budget = new Budget(requestStepsMax)) {
    this.context = context;
    this.budget = budget;
    this.#cluster = cluster;
  }

  /** The same write with another object. */
  withObject(object: KubeObject): PolicyRequest {
    return new PolicyRequest({ ...this.context, object }, this.#cluster, this.budget);
  }

  /** Must be called when a policy has matched by another version: the conversion of its objects may have to wait. */
  convertTo(matched: ServedKind): void | Promise<void> {
    const { resource } = this.context;
    if (matched !== resource && !this.#isSubresource(matched) && !this.#converted?.has(matched))
      return this.#convertTo(matched);
  }

  async #convertTo(matched: ServedKind): Promise<void> {
    const { object, oldObject, call } = this.context;
    const given = [object, oldObject].filter((one) => one !== undefined);
    const converted = given.map(async (one) => [one, await this.#cluster.shown(matched, one, call)] as const);
    (this.#converted ??= new Map()).set(matched, new Map(await Promise.all(converted)));
  }

  /** Only for creations and updates. */
  get object(): KubeObject {
    const { object } = this.context;
    invariant(object, 'a deletion has no object that could be changed');
    return object;
  }

  /** The namespace of the request; of a write of a namespace, that one. */
  get namespace(): string | undefined {
    const { context } = this;
    return this.isNamespace ? context.name : context.namespace;
  }

  get equivalents(): readonly ServedKind[] {
    return this.#cluster.findEquivalents(this.context.resource);
  }

  /** Whether the object is a namespace; it is taken to be in itself. */
  get isNamespace(): boolean {
    const { group, plural } = this.context.resource;
    return group === '' && plural === 'namespaces';
  }

  /** Undefined for cluster-scoped objects. */
  get namespaceLabels(): Readonly<Record<string, string>> | undefined {
    const { context } = this;
    if (this.isNamespace) return labelsOf(context.object ?? context.oldObject);
    return context.namespace === undefined ? undefined : labelsOf(this.namespaceObject);
  }

  /** A namespace that does not exist yet is about to be auto-provisioned, with the label that every namespace has. */
  get namespaceObject(): KubeObject | undefined {
    const { namespace } = this.context;
    if (namespace === undefined || this.isNamespace) return undefined;
    this.#namespace ??= this.#cluster.namespace(namespace) ?? {
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: namespace, labels: { 'kubernetes.io/metadata.name': namespace } },
    };
    return this.#namespace;
  }

  /** The labels that object selectors apply to: those of the new and of the old object. */
  get objectLabels(): readonly Readonly<Record<string, string>>[] {
    const { object, oldObject } = this.context;
    return [object, oldObject].flatMap((one) => (one ? [labelsOf(one)] : []));
  }

  /** The variables of an expression, with objects in the version of the resource by which the policy matched. */
  getValues(matched: ServedKind, params: KubeObject | undefined): Bindings {
    this.#values ??= new Map();
    const known = this.#values.get(matched) ?? createAdmissionValues(new RequestValues(this, this.#cluster, matched));
    this.#values.set(matched, known);
    return params ? new BindingsWithParams(known, fromApiJson(params)) : known;
  }

  /** The object in the version of the resource by which a policy matched. */
  getObject(matched: ServedKind): KubeObject {
    return this.toServed(matched, this.object) ?? this.object;
  }

  getSchema(matched: ServedKind): ObjectSchema<KubeObject> {
    return this.#isSubresource(matched) ? this.context.kind.schema : matched.schema;
  }

  /** The patched result of `getObject`, decoded and in the version of the request. Throws a WrongTypeError. */
  *decodePatched(matched: ServedKind, patched: unknown): Task<KubeObject> {
    const object = decode(this.getSchema(matched), patched, () => {});
    const before = this.getObject(matched);
    if (object.kind !== before.kind || object.apiVersion !== before.apiVersion)
      throw new WrongTypeError([], `kind and apiVersion must stay ${before.kind} of ${before.apiVersion}`);
    const { resource, call } = this.context;
    if (this.#isSubresource(matched)) return object;
    return yield* awaitValue(this.#cluster.decided(resource, object, call));
  }

  /** The object after a JSON patch to `getObject`. Throws a PatchFailedError or a WrongTypeError. */
  *applyPatch(matched: ServedKind, patch: JsonPatch): Task<KubeObject> {
    return yield* this.decodePatched(matched, yield* applyJsonPatch(this.getObject(matched), patch));
  }

  /** The request of an AdmissionReview for the resource by which a webhook matched. */
  reviewRequest(matched: ServedKind, uid: string): object {
    const { object, oldObject } = this.context;
    // Empty strings are omitted and absent objects are null, as in kube-apiserver.
    const named = Object.entries(this.toJson(matched)).filter(([, value]) => value !== '');
    return {
      uid,
      ...Object.fromEntries(named),
      object: this.toServed(matched, object) ?? null,
      oldObject: this.toServed(matched, oldObject) ?? null,
    };
  }

  /** Whether the object is of the kind of a subresource, which is the same in all versions of its resource. */
  #isSubresource(matched: ServedKind): boolean {
    const { subresource, kind } = this.context;
    return subresource !== undefined && kind.kind !== matched.kind;
  }

  toServed(matched: ServedKind, object: KubeObject | undefined): KubeObject | undefined {
    if (!object || this.#isSubresource(matched)) return object;
    const known = this.#converted?.get(matched)?.get(object);
    if (known) return known;
    const shown = this.#cluster.shown(matched, object, this.context.call);
    invariant(!(shown instanceof Promise), 'objects are converted before a policy is evaluated in another version');
    return shown;
  }

  /** The request of an AdmissionReview, without objects. */
  toJson(matched: ServedKind): object {
    const { context } = this;
    const { resource, subresource = '', user, options } = context;
    const { kind: optionsKind, ...rest } = options;
    return {
      kind: this.#getKind(matched),
      resource: getResource(matched),
      subResource: subresource,
      requestKind: this.#getKind(resource),
      requestResource: getResource(resource),
      requestSubResource: subresource,
      name: context.name ?? '',
      namespace: context.namespace ?? (this.isNamespace ? (context.name ?? '') : ''),
      operation: context.operation,
      userInfo: {
        username: user.name,
        ...(user.uid && { uid: user.uid }),
        groups: user.groups,
        ...(user.extra && { extra: user.extra }),
      },
      dryRun: context.dryRun,
      options: { kind: optionsKind, apiVersion: 'meta.k8s.io/v1', ...dropUndefined(rest) },
    };
  }

  /** The kind of a subresource if it has one of its own, else that of the resource. */
  #getKind(resource: ServedKind): object {
    const { group, version, kind } = this.#isSubresource(resource) ? this.context.kind : resource;
    return { group, version, kind };
  }
}

/** What expressions read of a request; each part is made when it is read. */
class RequestValues implements AdmissionValues {
  readonly #request: PolicyRequest;
  readonly #cluster: ClusterState;
  readonly #matched: ServedKind;

  constructor(request: PolicyRequest, cluster: ClusterState, matched: ServedKind) {
    this.#request = request;
    this.#cluster = cluster;
    this.#matched = matched;
  }

  get object(): KubeObject | undefined {
    return this.#request.toServed(this.#matched, this.#request.context.object);
  }

  get oldObject(): KubeObject | undefined {
    return this.#request.toServed(this.#matched, this.#request.context.oldObject);
  }

  get request(): object {
    return this.#request.toJson(this.#matched);
  }

  get namespaceObject(): KubeObject | undefined {
    return this.#request.namespaceObject;
  }

  get authorizer(): NonNullable<AdmissionValues['authorizer']> {
    const { user, call, resource, subresource = '', namespace = '', name = '' } = this.#request.context;
    return {
      user,
      authorize: (question) => this.#cluster.authorize(question, call),
      requestResource: { group: resource.group, resource: resource.plural, subresource, namespace, name },
    };
  }
}

class BindingsWithParams implements Bindings {
  readonly #others: Bindings;
  readonly #params: Value;

  constructor(others: Bindings, params: Value) {
    this.#others = others;
    this.#params = params;
  }

  get(name: string): Value | undefined {
    return name === 'params' ? this.#params : this.#others.get(name);
  }
}

const getResource = ({ group, version, plural }: ServedKind): object => ({ group, version, resource: plural });

const labelsOf = (object: KubeObject | undefined): Readonly<Record<string, string>> => object?.metadata.labels ?? {};

const dropUndefined = (options: object): object =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
