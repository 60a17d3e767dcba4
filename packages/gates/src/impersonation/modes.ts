import {
  type AccessAttributes,
  formatPath,
  Problems,
  type ResourceAttributes,
  type UserInfo,
} from '@cluster-apiserver/model';
import { subdomainNames, validateDomainPrefixedPath } from '@cluster-apiserver/model/validation';
import { addAssumedGroup } from '../authentication/user-groups.ts';
import { parseAccountUserName } from '../authentication/service-account/account-name.ts';
import { getAccountGroups } from '../authentication/service-account/claims.ts';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import type { ImpersonatedUser } from './impersonated-user.ts';

/**
 * A way to be permitted to impersonate. A constrained mode requires `impersonate-on:MODE:VERB` for the request itself and
 * `impersonate:MODE` for each part of the user. The unconstrained one requires `impersonate` for each part, and allows every
 * request.
 */
export interface Mode {
  /** The verb for the parts of the user; undefined for the unconstrained mode. */
  readonly constraint: string | undefined;
  /** Whether the mode applies to such a user. */
  applies(wanted: ImpersonatedUser, requester: UserInfo): boolean;
  /** The required permissions, in the order in which they are checked. */
  parts(wanted: ImpersonatedUser, request: AccessAttributes): readonly UserPart[];
  toUser(wanted: ImpersonatedUser): UserInfo;
}

export interface UserPart {
  readonly checks: readonly AccessAttributes[];
  /** If this check is allowed, the others of the part are skipped. */
  readonly wildcard?: AccessAttributes | undefined;
  /** Refused by the mode itself, without authorizers. */
  readonly forbidden?: { readonly attributes: AccessAttributes; readonly reason: string } | undefined;
}

const nodePrefix = 'system:node:';

/** The node of a user name; undefined for other users. */
function parseNodeName(user: string): string | undefined {
  if (!user.startsWith(nodePrefix)) return undefined;
  const name = user.slice(nodePrefix.length);
  return subdomainNames.whole(name).length === 0 ? name : undefined;
}

/** In constrained modes, nodes and service accounts have fixed groups: only the name may be given. */
const hasNameOnly = ({ uid, groups, extra }: ImpersonatedUser): boolean =>
  uid === undefined && groups.length === 0 && Object.keys(extra).length === 0;

/** Extra key with the node on which the pod of a service account token runs. */
const nodeNameKey = 'authentication.kubernetes.io/node-name';

/** Whether the requester is a service account whose token is bound to this node. */
function runsOn({ name, extra }: UserInfo, node: string): boolean {
  const nodes = extra?.[nodeNameKey];
  return parseAccountUserName(name) !== undefined && nodes?.length === 1 && nodes[0] === node;
}

/** Differences between constrained modes. */
interface ModeOptions {
  /** The requester in the attributes. */
  readonly requester?: (user: UserInfo) => UserInfo;
  /** The node name for which permission is required. */
  readonly node?: (name: string) => string;
}

function createConstrainedMode(name: string, applies: Mode['applies'], { requester, node }: ModeOptions = {}): Mode {
  const constraint = `impersonate:${name}`;
  return {
    constraint,
    applies,
    parts: (wanted, request) => {
      const effective = requester ? { ...request, user: requester(request.user) } : request;
      const check = createCheckFactory(effective, constraint, authentication);
      const ownNode = parseNodeName(wanted.name);
      return [
        { checks: [{ ...effective, verb: `impersonate-on:${name}:${request.verb}` }] },
        {
          checks: [
            ownNode === undefined
              ? (check.account(wanted.name) ?? check.user(wanted.name))
              : check.node(node ? node(ownNode) : ownNode),
          ],
        },
        ...createChosenParts(wanted, check),
      ];
    },
    toUser: (wanted) => userOf(wanted, parseNodeName(wanted.name) === undefined ? [] : ['system:nodes']),
  };
}

/** Removes extra values, so that checks of the agents of all nodes, which share an account, are equal. */
const withoutExtraValues = (user: UserInfo): UserInfo => ({
  ...user,
  extra: { 'authentication.kubernetes.io/associated-node-keys': Object.keys(user.extra ?? {}).sort() },
});

const authentication = 'authentication.k8s.io';

/** All modes, in the order in which they are tried. */
export const modes: readonly Mode[] = [
  createConstrainedMode(
    'associated-node',
    (wanted, requester) => {
      const node = parseNodeName(wanted.name);
      return node !== undefined && hasNameOnly(wanted) && runsOn(requester, node);
    },
    { requester: withoutExtraValues, node: () => '*' },
  ),
  createConstrainedMode('arbitrary-node', (wanted) => parseNodeName(wanted.name) !== undefined && hasNameOnly(wanted)),
  createConstrainedMode(
    'serviceaccount',
    (wanted) => parseAccountUserName(wanted.name) !== undefined && hasNameOnly(wanted),
  ),
  createConstrainedMode(
    'user-info',
    ({ name }) => parseNodeName(name) === undefined && parseAccountUserName(name) === undefined,
  ),
  {
    constraint: undefined,
    applies: () => true,
    parts: ({ name, uid, groups, extra }, request) => {
      const check = createCheckFactory(request, 'impersonate', '');
      return [
        { checks: [check.account(name) ?? check.user(name)] },
        { checks: uid === undefined ? [] : [check.uid(uid)] },
        { checks: groups.map((group) => check.group(group)) },
        { checks: createExtraChecks(extra, check) },
      ];
    },
    toUser: (wanted) => userOf(wanted, []),
  },
];

interface CheckFactory {
  user(name: string): AccessAttributes;
  /** Undefined if the name is not of a service account. */
  account(name: string): AccessAttributes | undefined;
  node(name: string): AccessAttributes;
  uid(uid: string): AccessAttributes;
  group(name: string | undefined): AccessAttributes;
  extra(key: string | undefined, value: string | undefined): AccessAttributes;
}

const nothing = { subresource: undefined, namespace: undefined, name: undefined };

/** Creates the checks of parts of a user. In the unconstrained mode users and groups are in the core group. */
function createCheckFactory({ user, path }: AccessAttributes, verb: string, ofUsersAndGroups: string): CheckFactory {
  const createCheck = (group: string, resource: string, more: Partial<ResourceAttributes>): AccessAttributes => ({
    user,
    verb,
    path,
    resource: { ...nothing, group, version: 'v1', resource, ...more },
  });
  return {
    user: (name) => createCheck(ofUsersAndGroups, 'users', { name }),
    account: (name) => {
      const account = parseAccountUserName(name);
      return account && createCheck(ofUsersAndGroups, 'serviceaccounts', account);
    },
    node: (name) => createCheck(ofUsersAndGroups, 'nodes', { name }),
    uid: (uid) => createCheck(authentication, 'uids', { name: uid }),
    group: (name) => createCheck(ofUsersAndGroups, 'groups', { name }),
    extra: (key, value) => createCheck(authentication, 'userextras', { subresource: key, name: value }),
  };
}

const createExtraChecks = (extra: ImpersonatedUser['extra'], check: CheckFactory): AccessAttributes[] =>
  Object.entries(extra).flatMap(([key, values]) => values.map((value) => check.extra(key, value)));

/** From this number of groups or extra values on, permission for all of them is checked first. */
const wildcardMin = 4;

/** The checks of a constrained mode about UID, groups and extra. */
function createChosenParts({ uid, groups, extra }: ImpersonatedUser, check: CheckFactory): UserPart[] {
  const ofExtra = createExtraChecks(extra, check);
  const masters = groups.includes(mastersGroup);
  const wrongExtra = findExtraProblem(extra);
  return [
    { checks: uid === undefined ? [] : [check.uid(uid)] },
    {
      checks: groups.map((group) => check.group(group)),
      wildcard: groups.length >= wildcardMin ? check.group('*') : undefined,
      // Members are allowed everything, which would defeat the constraint.
      forbidden: masters
        ? { attributes: check.group(mastersGroup), reason: `impersonating the ${mastersGroup} group is not allowed` }
        : undefined,
    },
    {
      checks: ofExtra,
      wildcard: ofExtra.length >= wildcardMin ? check.extra('*', '*') : undefined,
      forbidden:
        wrongExtra === undefined ? undefined : { attributes: check.extra(undefined, undefined), reason: wrongExtra },
    },
  ];
}

/** Validates extra keys: in a constrained mode each is a lower-case path below a domain. */
function findExtraProblem(extra: ImpersonatedUser['extra']): string | undefined {
  for (const key of Object.keys(extra)) {
    const problems = new Problems();
    validateDomainPrefixedPath(key, problems.at('extra', 'key'));
    const found = problems.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);
    if (found.length > 0)
      return `impersonating an invalid key in extra is not allowed: ${found.length === 1 ? found[0] : `[${found.join(', ')}]`}`;
    if (key !== key.toLowerCase())
      return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
  }
  return undefined;
}

/** The impersonated user. A service account without groups gets the groups of service accounts. */
function userOf({ name, uid, groups, extra }: ImpersonatedUser, fixedGroups: readonly string[]): UserInfo {
  const account = parseAccountUserName(name);
  const own = account && groups.length === 0 ? getAccountGroups(account.namespace) : groups;
  return addAssumedGroup({
    name,
    groups: fixedGroups.length > 0 ? fixedGroups : own,
    ...(uid !== undefined && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
}
