import type { Call } from '@cluster-apiserver/base';
import { invalid, Problems, type ResourceAttributes, type UserInfo } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Authorizer } from '../authorization/authorizer.ts';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import type { AdmissionContext, AdmissionPlugin } from './admission.ts';
import { decideRight, findRefusalTwice } from './writer-rights.ts';

export interface ParamRightsOptions {
  readonly authorizer: Authorizer;
  /** The resource of a kind, by its plural name; undefined if it is not served. */
  readonly resourceOf: (apiVersion: string, kind: string) => string | undefined;
  /** Finds a policy in the watch cache. */
  findPolicy(kind: string, name: string): KubeObject | undefined;
  /** Resolves when the watch cache has caught up with all earlier writes. */
  readonly refresh: (call: Call) => Promise<void>;
}

/**
 * A policy reveals its parameters by what it denies and by its messages. So writing a policy with a paramKind requires
 * permission to get all objects of that kind, and writing a binding with a paramRef requires permission to read what it
 * names. It cannot be disabled.
 */
export const createParamRights = (options: ParamRightsOptions): AdmissionPlugin => ({
  name: 'ParamRights',
  validate: (context) => {
    const { operation, resource, subresource } = context;
    if (operation === 'DELETE' || subresource !== undefined || resource.group !== 'admissionregistration.k8s.io')
      return undefined;
    // Decoded by the schemas of the kinds of this group.
    const object: PolicyOrBinding | undefined = context.object;
    const current: PolicyOrBinding | undefined = context.oldObject;
    if (!object?.spec || context.user.groups.includes(mastersGroup)) return undefined;
    const { paramKind, paramRef } = object.spec;
    if (paramKind) {
      const before = current?.spec?.paramKind;
      if (before && sameJson(before, paramKind)) return undefined;
      return requireRight({ context, options, object, field: 'paramKind' }, () => getPolicyRight(paramKind, options));
    }
    // As in kube-apiserver, an update is checked even if paramRef is unchanged: the policy may have changed.
    if (paramRef)
      return requireRight({ context, options, object, field: 'paramRef' }, () =>
        getBindingRight(resource.kind, object, paramRef, options),
      );
    return undefined;
  },
});

/** A policy has a paramKind, a binding a paramRef. */
interface PolicyOrBinding extends KubeObject {
  readonly spec?: {
    readonly paramKind?: ParamKind;
    readonly policyName?: string;
    readonly paramRef?: { readonly name?: string; readonly namespace?: string };
  };
}

interface ParamKind {
  readonly apiVersion?: string;
  readonly kind?: string;
}

/** A permission that the writer needs, and the refusal without it. */
interface Right {
  readonly verb: string;
  readonly resource: ResourceAttributes;
  refusal(user: string): string;
}

interface Check {
  readonly context: AdmissionContext;
  readonly options: ParamRightsOptions;
  readonly object: KubeObject;
  /** Of the spec. */
  readonly field: string;
}

async function requireRight(check: Check, right: () => Right): Promise<undefined> {
  const { context, options, object, field } = check;
  const refusal = await findRefusalTwice(() => findRefusal(check, right()), options.refresh, context.call);
  if (refusal !== undefined)
    throw invalid(context.resource, object.metadata.name ?? '', new Problems().at('spec', field).forbidden(refusal));
}

async function findRefusal({ context, options }: Check, right: Right): Promise<string | undefined> {
  const { verdict, error } = await decideRight(context, options.authorizer, right.verb, right.resource);
  if (verdict === 'allow') return undefined;
  return error ? `failed to authorize request: ${error.message}` : right.refusal(describeUser(context.user));
}

/** Permission to get all objects of the kind in all namespaces. */
function getPolicyRight(paramKind: ParamKind, options: ParamRightsOptions): Right {
  const { apiVersion = '', kind = '' } = paramKind;
  return {
    verb: 'get',
    resource: { ...resolveParamKind(paramKind, options), subresource: undefined, namespace: '*', name: '*' },
    refusal: (user) =>
      `user ${user} must have "get" permission on all objects of the referenced paramKind (kind=${kind}, apiVersion=${apiVersion})`,
  };
}

function getBindingRight(
  bindingKind: string,
  { spec = {} }: PolicyOrBinding,
  { name = '', namespace = '' }: { readonly name?: string; readonly namespace?: string },
  options: ParamRightsOptions,
): Right {
  const { policyName = '' } = spec;
  const policy: PolicyOrBinding | undefined = options.findPolicy(bindingKind.replace(/Binding$/, ''), policyName);
  const paramKind = policy?.spec?.paramKind;
  const found = paramKind ? resolveParamKind(paramKind, options) : everything;
  const verb = name === '' ? 'list' : 'get';
  const lacks = (user: string): string => `user ${user} does not have "${verb}" permission`;
  return {
    verb,
    resource: { ...found, subresource: undefined, namespace: namespace || undefined, name: name || undefined },
    refusal: (user) => {
      const everywhere = `${lacks(user)} for all groups, versions and resources`;
      if (!policy)
        return `unable to get policy ${policyName} to determine minimum required permissions and ${everywhere}`;
      if (paramKind && found.resource === '*')
        return `unable to resolve paramKind ${paramKind.apiVersion ?? ''}, Kind=${paramKind.kind ?? ''} to determine minimum required permissions and ${everywhere}`;
      return `${lacks(user)} on the object referenced by paramRef`;
    },
  };
}

/** The permission that is required if it is unknown what will be read. */
const everything = { group: '*', version: '*', resource: '*' };

function resolveParamKind(
  { apiVersion = '', kind = '' }: ParamKind,
  { resourceOf }: ParamRightsOptions,
): typeof everything {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version, resource: resourceOf(apiVersion, kind) ?? '*' };
}

/** As kube-apiserver prints users: &{name uid [groups] map[extra]}. */
function describeUser({ name, uid = '', groups, extra = {} }: UserInfo): string {
  const more = Object.entries(extra)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(' ')}]`);
  return `&{${name} ${uid} [${groups.join(' ')}] map[${more.join(' ')}]}`;
}
