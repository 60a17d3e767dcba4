import { type Call, type Clock, runTask } from '@cluster-apiserver/base';
import {
  decisionNotReady,
  forbiddenResource,
  type KubeObject,
  notFound,
  type PolicyRule,
  rbacGroup,
  type RoleRef,
  sameJson,
  type StatusError,
  type UserInfo,
} from '@cluster-apiserver/model';
import type { Authorizer } from '../authorization/authorizer.ts';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import { describeMissing, missingRules, quoted } from '../authorization/rbac/missing-rules.ts';
import { listed, type PolicyIndex } from '../authorization/rbac/policy-index.ts';
import type { CurrentPolicy } from '../authorization/rbac/rbac-authorizer.ts';
import { everything } from '../authorization/rules.ts';
import type { AdmissionContext, AdmissionPlugin } from './admission.ts';

export interface EscalationOptions {
  readonly current: CurrentPolicy;
  /** Resolves when everything is known that was written before. */
  readonly refresh: (call: Call) => Promise<void>;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/**
 * Nobody grants more than they hold: the rules of a role that is written, or bound, must be among the rules of the
 * writer, unless the writer has the verb `escalate` or `bind`. Every change is checked against all of the rules, also one
 * that takes away. It cannot be switched off, and holds whatever authorizers are configured.
 */
export const rbacEscalation = (options: EscalationOptions): AdmissionPlugin => ({
  name: 'RBACEscalation',
  validate: (context) => {
    const { operation, resource, subresource } = context;
    if (resource.group !== rbacGroup || operation === 'DELETE' || subresource !== undefined) return undefined;
    return requireNoEscalation(context, options);
  },
});

async function requireNoEscalation(context: AdmissionContext, options: EscalationOptions): Promise<undefined> {
  const { user, oldObject, call } = context;
  const object: RbacObject | undefined = context.object; // decoded by the schema of one of the four kinds
  if (!object || user.groups.includes(mastersGroup) || (oldObject && changesOnlyLifecycle(object, oldObject))) return;
  const check = { context, object, options };
  const refusalOf = (): Promise<StatusError | undefined> =>
    object.roleRef ? refusalOfBinding(check, object.roleRef) : refusalOfRole(check);
  if (!(await refusalOf())) return;
  // A role, or a right of the writer, may just have been written through another replica.
  await options.refresh(call);
  const refusal = await refusalOf();
  if (refusal) throw refusal;
}

/** A role or a binding: which of them, its fields tell. */
type RbacObject = KubeObject & {
  readonly rules?: readonly PolicyRule[] | null;
  readonly aggregationRule?: object;
  readonly roleRef?: RoleRef;
};

interface Check {
  readonly context: AdmissionContext;
  readonly object: RbacObject;
  readonly options: EscalationOptions;
}

async function refusalOfRole(check: Check): Promise<StatusError | undefined> {
  const { context, object } = check;
  const { resource, options, name } = context;
  // A name that its creator chooses is none that somebody else could have given the verb for.
  const chosen = options.kind === 'CreateOptions' ? undefined : name;
  if (await isAllowed(check, 'escalate', resource.plural, chosen)) return undefined;
  const problem = await problemOf(check, object.rules ?? []);
  if (problem) return forbiddenResource(resource, object.metadata.name, problem);
  const aggregates = object.aggregationRule ?? context.oldObject?.aggregationRule;
  if (!aggregates || !(await problemOf(check, [...everything.resource, ...everything.nonResource]))) return undefined;
  return forbiddenResource(
    resource,
    object.metadata.name,
    'must have cluster-admin privileges to use the aggregationRule',
  );
}

async function refusalOfBinding(check: Check, roleRef: RoleRef): Promise<StatusError | undefined> {
  const { context, object } = check;
  const { resource, namespace } = context;
  if (await isAllowed(check, 'bind', roleRef.kind === 'Role' ? 'roles' : 'clusterroles', roleRef.name))
    return undefined;
  const rules = policyOf(check).rulesOfRole(roleRef, namespace);
  if (!rules) return notFound(resource, roleRef.name);
  const problem = await problemOf(check, rules);
  return problem === undefined ? undefined : forbiddenResource(resource, object.metadata.name, problem);
}

/** What the writer lacks of these rules. */
async function problemOf(check: Check, rules: readonly PolicyRule[]): Promise<string | undefined> {
  const { user, namespace, call } = check.context;
  const held = policyOf(check).heldBy(user, namespace);
  const found = await runTask(check.options.clock, call, missingRules(rules, held.rules));
  if (found.missing.length === 0 && found.isComplete) return undefined;
  const problems = held.problems.length === 0 ? '' : `; resolution errors: [${listed(held.problems)}]`;
  return `user ${describeUser(user)} is attempting to grant RBAC permissions not currently held:\n${describeMissing(found)}${problems}`;
}

const describeUser = ({ name, groups }: UserInfo): string => `${JSON.stringify(name)} (groups=${quoted(groups)})`;

function policyOf({ options }: Check): PolicyIndex {
  const policy = options.current();
  if (!policy) throw decisionNotReady();
  return policy;
}

async function isAllowed(
  { context, options }: Check,
  verb: 'bind' | 'escalate',
  resource: string,
  name: string | undefined,
): Promise<boolean> {
  const { user, namespace, call } = context;
  const { verdict } = await options.authorizer.authorize(
    {
      user,
      verb,
      path: '',
      resource: { group: rbacGroup, version: 'v1', resource, subresource: undefined, namespace, name },
    },
    call,
  );
  if (verdict === 'notReady') throw decisionNotReady();
  return verdict === 'allow';
}

/** Owners and finalizers are for the garbage collector, who holds none of the rules. */
const changesOnlyLifecycle = (object: KubeObject, oldObject: KubeObject): boolean =>
  sameJson(withoutLifecycle(object), withoutLifecycle(oldObject));

function withoutLifecycle(object: KubeObject): KubeObject {
  const { ownerReferences: _, finalizers: __, managedFields: ___, ...metadata } = object.metadata;
  return { ...object, metadata };
}
