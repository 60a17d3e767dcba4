import {
  type AccessDecision,
  type AccessAttributes,
  type PolicyRule,
  rbacGroup,
  type RbacSubject,
  type RoleRef,
  type UserInfo,
} from '@cluster-apiserver/model';
import { getAccountUserName } from '../../authentication/service-account/account-name.ts';
import { getWildcard, RuleSet } from './rule-set.ts';

export interface IndexedRole {
  /** Undefined for a ClusterRole. */
  readonly namespace: string | undefined;
  readonly name: string;
  /** Undefined for an unreadable role. */
  readonly rules: readonly PolicyRule[] | undefined;
}

export interface IndexedBinding {
  /** Undefined for a ClusterRoleBinding. */
  readonly namespace: string | undefined;
  readonly name: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly RbacSubject[];
}

/** The rules of a user in a namespace. */
export interface HeldRules {
  /** One for each binding, cluster-wide ones first. */
  readonly rules: readonly RuleSet[];
  /** Messages about bound roles that do not exist. */
  readonly problems: readonly string[];
}

/** Bounds the response; further missing roles are named once these exist. */
const problemsMax = 100;

/**
 * Roles and bindings, indexed by subject. A decision checks the roles of the user and of the user's groups, each role once
 * even if several bindings grant it. Bindings share roles, so a change of a role is one assignment.
 */
export class PolicyIndex {
  readonly #roles = new Map<string, Role>();
  readonly #bindings = new Map<string, Binding>();
  /** Grants of ClusterRoleBindings. */
  readonly #everywhere = new GrantTable();
  /** Grants of RoleBindings, by namespace. */
  readonly #byNamespace = new Map<string, GrantTable>();
  /** Bound roles that do not exist or are unreadable. Usually empty, which makes refusals cheap. */
  readonly #missing = new Set<Role>();

  setRole({ namespace, name, rules }: IndexedRole): void {
    const role = this.#roleFor(namespace, name);
    role.rules = rules && new RuleSet(rules);
    role.isUnreadable = rules === undefined;
    this.#noteRole(role);
  }

  deleteRole(namespace: string | undefined, name: string): void {
    const role = this.#roles.get(keyOf(namespace, name));
    if (!role) return;
    role.rules = undefined;
    role.isUnreadable = false;
    this.#noteRole(role);
  }

  setBinding({ namespace, name, roleRef, subjects }: IndexedBinding): void {
    this.deleteBinding(namespace, name);
    const role = this.#roleFor(roleRef.kind === 'Role' ? (namespace ?? '') : undefined, roleRef.name);
    const binding: Binding = { namespace, name, role, subjects };
    this.#bindings.set(keyOf(namespace, name), binding);
    role.bindings++;
    this.#noteRole(role);
    const table = namespace === undefined ? this.#everywhere : this.#tableFor(namespace);
    for (const subject of subjects) table.add(binding, subject);
  }

  deleteBinding(namespace: string | undefined, name: string): void {
    const key = keyOf(namespace, name);
    const binding = this.#bindings.get(key);
    if (!binding) return;
    this.#bindings.delete(key);
    const table = namespace === undefined ? this.#everywhere : this.#tableFor(namespace);
    for (const subject of binding.subjects) table.remove(binding, subject);
    if (namespace !== undefined && table.isEmpty) this.#byNamespace.delete(namespace);
    binding.role.bindings--;
    this.#noteRole(binding.role);
  }

  /** The rules of a role that a binding in a namespace would grant; undefined if it does not exist. */
  findRules(roleRef: RoleRef, namespace: string | undefined): readonly PolicyRule[] | undefined {
    const ofNamespace = roleRef.kind === 'Role' ? (namespace ?? '') : undefined;
    return this.#roles.get(keyOf(ofNamespace, roleRef.name))?.rules?.rules;
  }

  authorize(attributes: AccessAttributes): AccessDecision {
    const { user, resource: target } = attributes;
    if (!target) return this.#everywhere.findAllowing(attributes, '', undefined) ?? this.#refusal(user, undefined);
    const { namespace, subresource } = target;
    const resource = subresource ? `${target.resource}/${subresource}` : target.resource;
    const wildcard = subresource ? getWildcard(subresource) : undefined;
    return (
      this.#everywhere.findAllowing(attributes, resource, wildcard) ??
      (namespace ? this.#byNamespace.get(namespace)?.findAllowing(attributes, resource, wildcard) : undefined) ??
      this.#refusal(user, namespace)
    );
  }

  findHeldRules(user: UserInfo, namespace: string | undefined): HeldRules {
    const bindings = this.#bindingsOf(user, namespace);
    const roles = [...bindings].map(({ role }) => role);
    return { rules: roles.flatMap(({ rules }) => rules ?? []), problems: describeMissingRoles(roles) };
  }

  /** Names bound roles that do not exist: they are the likely reason for the refusal. */
  #refusal(user: UserInfo, namespace: string | undefined): AccessDecision {
    if (this.#missing.size === 0) return noOpinion;
    const problems = describeMissingRoles([...this.#bindingsOf(user, namespace)].map(({ role }) => role));
    return problems.length === 0 ? noOpinion : { verdict: 'noOpinion', reason: `RBAC: ${joinProblems(problems)}` };
  }

  #bindingsOf(user: UserInfo, namespace: string | undefined): Set<Binding> {
    const bindings = new Set<Binding>();
    this.#everywhere.addBindings(user, bindings);
    if (namespace) this.#byNamespace.get(namespace)?.addBindings(user, bindings);
    return bindings;
  }

  #roleFor(namespace: string | undefined, name: string): Role {
    const key = keyOf(namespace, name);
    let role = this.#roles.get(key);
    if (!role) {
      role = { key, namespace, name, rules: undefined, isUnreadable: false, bindings: 0 };
      this.#roles.set(key, role);
    }
    return role;
  }

  /** Updates the set of missing roles. Drops a role that is neither stored nor bound. */
  #noteRole(role: Role): void {
    if (!role.rules && role.bindings > 0) this.#missing.add(role);
    else this.#missing.delete(role);
    if (!role.rules && !role.isUnreadable && role.bindings === 0) this.#roles.delete(role.key);
  }

  #tableFor(namespace: string): GrantTable {
    let table = this.#byNamespace.get(namespace);
    if (!table) this.#byNamespace.set(namespace, (table = new GrantTable()));
    return table;
  }
}

interface Role {
  readonly key: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** Undefined while it does not exist. */
  rules: RuleSet | undefined;
  isUnreadable: boolean;
  /** Number of bindings that grant it. */
  bindings: number;
}

interface Binding {
  readonly namespace: string | undefined;
  readonly name: string;
  readonly role: Role;
  readonly subjects: readonly RbacSubject[];
}

/** A role that one or several bindings grant to one subject. */
interface Grant {
  readonly role: Role;
  /** With the subject as written in the binding. */
  readonly bindings: Map<Binding, RbacSubject>;
  /** Cached, so that allowed requests build no strings. */
  allowed: AccessDecision | undefined;
}

/** Grants by subject, in one namespace or cluster-wide. */
class GrantTable {
  readonly #users = new Map<string, Map<Role, Grant>>();
  readonly #groups = new Map<string, Map<Role, Grant>>();

  get isEmpty(): boolean {
    return this.#users.size === 0 && this.#groups.size === 0;
  }

  add(binding: Binding, subject: RbacSubject): void {
    const place = this.#placeOf(binding, subject);
    if (!place) return;
    const { table, name } = place;
    let grants = table.get(name);
    if (!grants) table.set(name, (grants = new Map()));
    let grant = grants.get(binding.role);
    if (!grant) grants.set(binding.role, (grant = { role: binding.role, bindings: new Map(), allowed: undefined }));
    // A binding may list the same subject twice.
    if (!grant.bindings.has(binding)) grant.bindings.set(binding, subject);
  }

  remove(binding: Binding, subject: RbacSubject): void {
    const place = this.#placeOf(binding, subject);
    const grants = place?.table.get(place.name);
    const grant = grants?.get(binding.role);
    if (!place || !grants || !grant) return;
    grant.bindings.delete(binding);
    grant.allowed = undefined;
    if (grant.bindings.size === 0) grants.delete(binding.role);
    if (grants.size === 0) place.table.delete(place.name);
  }

  findAllowing(
    attributes: AccessAttributes,
    resource: string,
    wildcard: string | undefined,
  ): AccessDecision | undefined {
    const { name, groups } = attributes.user;
    const own = findAllowing(this.#users.get(name), attributes, resource, wildcard);
    if (own) return own;
    for (const group of groups) {
      const allowed = findAllowing(this.#groups.get(group), attributes, resource, wildcard);
      if (allowed) return allowed;
    }
    return undefined;
  }

  addBindings({ name, groups }: UserInfo, bindings: Set<Binding>): void {
    const add = (grants: ReadonlyMap<Role, Grant> | undefined): void => {
      for (const grant of grants?.values() ?? []) for (const binding of grant.bindings.keys()) bindings.add(binding);
    };
    add(this.#users.get(name));
    for (const group of groups) add(this.#groups.get(group));
  }

  /** A service account is indexed by its user name. Undefined for an unknown kind of subject. */
  #placeOf(
    binding: Binding,
    { kind, name, namespace }: RbacSubject,
  ): { readonly table: Map<string, Map<Role, Grant>>; readonly name: string } | undefined {
    switch (kind) {
      case 'User':
        return { table: this.#users, name };
      case 'Group':
        return { table: this.#groups, name };
      case 'ServiceAccount': {
        const home = namespace || binding.namespace;
        return home === undefined
          ? undefined
          : { table: this.#users, name: getAccountUserName({ namespace: home, name }) };
      }
      default:
        return undefined;
    }
  }
}

function findAllowing(
  grants: ReadonlyMap<Role, Grant> | undefined,
  { verb, path, resource: target }: AccessAttributes,
  resource: string,
  wildcard: string | undefined,
): AccessDecision | undefined {
  if (!grants) return undefined;
  for (const grant of grants.values()) {
    const { rules } = grant.role;
    if (!rules) continue;
    const isAllowed = target
      ? rules.allowsResource(verb, target.group, resource, wildcard, target.name ?? '')
      : rules.allowsPath(verb, path);
    if (isAllowed) return (grant.allowed ??= createAllowDecision(grant));
  }
  return undefined;
}

function createAllowDecision({ role, bindings }: Grant): AccessDecision {
  const [first] = bindings;
  if (!first) return { verdict: 'allow' };
  const [{ namespace, name }, subject] = first;
  const binding =
    namespace === undefined
      ? `ClusterRoleBinding ${JSON.stringify(name)}`
      : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
  const kind = role.namespace === undefined ? 'ClusterRole' : 'Role';
  const who = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  const to = `${subject.kind} ${JSON.stringify(who)}`;
  return {
    verdict: 'allow',
    reason: `RBAC: allowed by ${binding} of ${kind} ${JSON.stringify(role.name)} to ${to}`,
  };
}

const noOpinion: AccessDecision = { verdict: 'noOpinion' };

function describeMissingRoles(roles: readonly Role[]): string[] {
  const missing = new Set(roles.filter(({ rules }) => !rules));
  return [...missing].slice(0, problemsMax).map(({ namespace, name, isUnreadable }) => {
    const kind = namespace === undefined ? 'clusterrole' : 'role';
    return `${kind}.${rbacGroup} ${JSON.stringify(name)} ${isUnreadable ? 'cannot be read' : 'not found'}`;
  });
}

/** As kube-apiserver formats several errors. */
export function joinProblems(problems: readonly string[]): string {
  const joined = problems.join(', ');
  return problems.length === 1 ? joined : `[${joined}]`;
}

/** Unique, because names contain no slash. */
const keyOf = (namespace: string | undefined, name: string): string =>
  namespace === undefined ? name : `${namespace}/${name}`;
