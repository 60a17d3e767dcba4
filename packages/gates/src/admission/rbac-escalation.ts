import { type Call, type Clock, runTask } from '@cluster-apiserver/base';
import {
  decisionNotReady,
  forbiddenResource,
  notFound,
  type PolicyRule,
  rbacGroup,
  type RoleRef,
  type StatusError,
  type UserInfo,
} from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Authorizer } from '../authorization/authorizer.ts';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import { describeMissing, findMissingRules, quoteAll } from '../authorization/rbac/missing-rules.ts';
import { joinProblems, type PolicyIndex } from '../authorization/rbac/policy-index.ts';
import type { CurrentPolicy } from '../authorization/rbac/rbac-authorizer.ts';
import { everything } from '../authorization/rules.ts';
import type { AdmissionContext, AdmissionPlugin } from './admission.ts';
import { decideRight, findRefusalTwice } from './writer-rights.ts';

export interface EscalationOptions {
  readonly current: CurrentPolicy;
  /** Resolves when the policy index has caught up with all earlier writes. */
  readonly refresh: (call: Call) => Promise<void>;
  readonly authorizer: Authorizer;
  readonly clock: Clock;
}

/**
 * Prevents privilege escalation: the writer of a role or binding must hold all rules that it grants, unless the writer has
 * the verb `escalate` or `bind`. Every change is checked against all rules, even if it removes some. The plugin cannot be
 * disabled, and applies with any configured authorizers.
 */
export const createRbacEscalation = (options: EscalationOptions): AdmissionPlugin => ({
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
    object.roleRef ? findBindingRefusal(check, object.roleRef) : findRoleRefusal(check);
  const refusal = await findRefusalTwice(refusalOf, options.refresh, call);
  if (refusal) throw refusal;
}

/** A role or a binding; only bindings have a roleRef. */
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

async function findRoleRefusal(check: Check): Promise<StatusError | undefined> {
  const { context, object } = check;
  const { resource, options, name } = context;
  // A creator chooses the name, so permission for a single name must not allow a creation.
  const chosen = options.kind === 'CreateOptions' ? undefined : name;
  if (await isAllowed(check, 'escalate', resource.plural, chosen)) return undefined;
  const problem = await describeEscalation(check, object.rules ?? []);
  if (problem) return forbiddenResource(resource, object.metadata.name, problem);
  const aggregates = object.aggregationRule ?? context.oldObject?.aggregationRule;
  if (!aggregates || !(await describeEscalation(check, [...everything.resource, ...everything.nonResource])))
    return undefined;
  return forbiddenResource(
    resource,
    object.metadata.name,
    'must have cluster-admin privileges to use the aggregationRule',
  );
}

async function findBindingRefusal(check: Check, roleRef: RoleRef): Promise<StatusError | undefined> {
  const { context, object } = check;
  const { resource, namespace } = context;
  if (await isAllowed(check, 'bind', roleRef.kind === 'Role' ? 'roles' : 'clusterroles', roleRef.name))
    return undefined;
  const rules = requirePolicy(check).findRules(roleRef, namespace);
  if (!rules) return notFound(resource, roleRef.name);
  const problem = await describeEscalation(check, rules);
  return problem === undefined ? undefined : forbiddenResource(resource, object.metadata.name, problem);
}

/** Describes the rules that the writer does not hold; undefined if the writer holds all. */
async function describeEscalation(check: Check, rules: readonly PolicyRule[]): Promise<string | undefined> {
  const { user, namespace, call } = check.context;
  const held = requirePolicy(check).findHeldRules(user, namespace);
  const found = await runTask(check.options.clock, call, findMissingRules(rules, held.rules));
  if (found.missing.length === 0 && found.isComplete) return undefined;
  const problems = held.problems.length === 0 ? '' : `; resolution errors: [${joinProblems(held.problems)}]`;
  return `user ${describeUser(user)} is attempting to grant RBAC permissions not currently held:\n${describeMissing(found)}${problems}`;
}

const describeUser = ({ name, groups }: UserInfo): string => `${JSON.stringify(name)} (groups=${quoteAll(groups)})`;

function requirePolicy({ options }: Check): PolicyIndex {
  const policy = options.current();
  if (!policy) throw decisionNotReady();
  return policy;
}

async function isAllowed(
  { context, options: { authorizer } }: Check,
  verb: 'bind' | 'escalate',
  resource: string,
  name: string | undefined,
): Promise<boolean> {
  const { namespace } = context;
  const asked = { group: rbacGroup, version: 'v1', resource, subresource: undefined, namespace, name };
  return (await decideRight(context, authorizer, verb, asked)).verdict === 'allow';
}

/** The garbage collector changes owners and finalizers, and holds none of the rules. */
const changesOnlyLifecycle = (object: KubeObject, oldObject: KubeObject): boolean =>
  sameJson(dropLifecycle(object), dropLifecycle(oldObject));

function dropLifecycle(object: KubeObject): KubeObject {
  const { ownerReferences: _, finalizers: __, managedFields: ___, ...metadata } = object.metadata;
  return { ...object, metadata };
}
