import type { UserInfo } from '@cluster-apiserver/model';
import { type Type, types } from '../check/type.ts';
import {
  AccessChecks,
  type Authorize,
  AuthorizerValue,
  type CheckedResource,
  ResourceCheck,
} from '../values/authorizer.ts';
import type { Bindings } from '../run/frame.ts';
import { fromApiJson } from '../values/json-map.ts';
import type { Value } from '../values/value.ts';
import type { Environment } from './environment.ts';

const { string, list, map, object } = types;

const groupVersionKind = object('kubernetes.GroupVersionKind', { group: string, version: string, kind: string });
const groupVersionResource = object('kubernetes.GroupVersionResource', {
  group: string,
  version: string,
  resource: string,
});

/** The AdmissionRequest without its objects, which are variables of their own. */
const requestType = object('kubernetes.AdmissionRequest', {
  kind: groupVersionKind,
  resource: groupVersionResource,
  subResource: string,
  requestKind: groupVersionKind,
  requestResource: groupVersionResource,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: object('kubernetes.UserInfo', {
    username: string,
    uid: string,
    groups: list(string),
    extra: map(string, list(string)),
  }),
  dryRun: types.bool,
  options: types.dyn,
});

/** Without managed fields and owner references. That the UID is written so is what kube-apiserver does. */
const namespaceType = object('kubernetes.Namespace', {
  metadata: object('kubernetes.NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: map(string, string),
    annotations: map(string, string),
    UID: string,
    creationTimestamp: types.timestamp,
    deletionGracePeriodSeconds: types.int,
    deletionTimestamp: types.timestamp,
    generation: types.int,
    resourceVersion: string,
    finalizers: list(string),
  }),
  spec: object('kubernetes.NamespaceSpec', { finalizers: list(string) }),
  status: object('kubernetes.NamespaceStatus', {
    conditions: list(
      object('kubernetes.NamespaceCondition', {
        status: string,
        type: string,
        lastTransitionTime: types.timestamp,
        message: string,
        reason: string,
      }),
    ),
    phase: string,
  }),
});

export interface AdmissionOptions {
  /** Whether the policy has a paramKind. */
  readonly hasParams?: boolean;
  readonly hasAuthorizer?: boolean;
  readonly hasPatchTypes?: boolean;
  /** For checking types: what `object`, `oldObject` and `params` are when one kind is meant. */
  readonly objectType?: Type;
  readonly paramsType?: Type;
}

/** The environment of policy expressions and of webhook match conditions. */
export function createAdmissionEnvironment(options: AdmissionOptions): Environment {
  const { objectType = types.dyn, paramsType = types.dyn } = options;
  return {
    variables: {
      object: objectType,
      oldObject: objectType,
      namespaceObject: namespaceType,
      request: requestType,
      ...(options.hasParams && { params: paramsType }),
      ...(options.hasAuthorizer && {
        authorizer: types.opaque('kubernetes.authorization.Authorizer'),
        'authorizer.requestResource': types.opaque('kubernetes.authorization.ResourceCheck'),
      }),
    },
    hasPatchTypes: options.hasPatchTypes ?? false,
    showsValues: true,
  };
}

/** JSON of the API; undefined and null are null. */
export interface AdmissionValues {
  readonly object: object | null | undefined;
  readonly oldObject: object | null | undefined;
  readonly params?: object | null | undefined;
  /** The `request` of an AdmissionReview, with options and without objects. */
  readonly request: object;
  readonly namespaceObject: object | null | undefined;
  /** The user and the resource of the request, for `authorizer`. */
  readonly authorizer?: {
    readonly authorize: Authorize;
    readonly user: UserInfo;
    readonly requestResource: CheckedResource;
  };
}

/**
 * The values of those variables for one request. Most expressions read few of them, so each is made when it is read. The
 * objects may not change while they are used.
 */
export const createAdmissionValues = (given: AdmissionValues): Bindings => new AdmissionBindings(given);

class AdmissionBindings implements Bindings {
  readonly #given: AdmissionValues;
  readonly #known = new Map<string, Value>();
  /** Shared, because it remembers the answers. */
  #authorizer: AuthorizerValue | undefined;

  constructor(given: AdmissionValues) {
    this.#given = given;
  }

  get(name: string): Value | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const value = this.#make(name);
    if (value !== undefined) this.#known.set(name, value);
    return value;
  }

  #make(name: string): Value | undefined {
    switch (name) {
      case 'object':
      case 'oldObject':
      case 'params':
      case 'request':
      case 'namespaceObject':
        return fromApiJson(this.#given[name] ?? null);
      case 'authorizer':
        return this.#findAuthorizer();
      case 'authorizer.requestResource': {
        const { authorizer } = this.#given;
        const value = this.#findAuthorizer();
        return authorizer && value && new ResourceCheck(value, authorizer.requestResource);
      }
      default:
        return undefined;
    }
  }

  #findAuthorizer(): AuthorizerValue | undefined {
    const { authorizer } = this.#given;
    this.#authorizer ??= authorizer && new AuthorizerValue(new AccessChecks(authorizer.authorize), authorizer.user);
    return this.#authorizer;
  }
}
