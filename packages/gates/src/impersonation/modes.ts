import { type AccessQuestion, type ResourceQuestion, subdomainNames, type UserInfo } from '@cluster-apiserver/model';
import { addAssumedGroup } from '../authentication/user-groups.ts';
import { parseAccountUserName } from '../authentication/service-account/account-name.ts';
import { getAccountGroups } from '../authentication/service-account/claims.ts';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import type { ImpersonatedUser } from './impersonated-user.ts';

/**
 * The ways in which somebody may have the right to act as somebody else. A constrained mode is about what is done and
 * for whom: `impersonate-on:MODE:VERB` for the request itself, and `impersonate:MODE` for each part of the user. The
 * classic one is `impersonate` for each part, whatever is done then; who has it needs no other.
 */
export interface Mode {
  /** The verb for the parts of the user, if the mode is a constrained one. */
  readonly constraint: string | undefined;
  /** Whether such a user can be impersonated in this mode at all. */
  applies(wanted: ImpersonatedUser, requester: UserInfo): boolean;
  /** What has to be allowed, in the order in which it is asked. */
  parts(wanted: ImpersonatedUser, request: AccessQuestion): readonly Part[];
  toUser(wanted: ImpersonatedUser): UserInfo;
}

export interface Part {
  readonly questions: readonly AccessQuestion[];
  /** One question whose allowance spares all others of the part. */
  readonly wildcard?: AccessQuestion | undefined;
  /** Refused by the mode itself, whatever authorizers say. */
  readonly forbidden?: { readonly attributes: AccessQuestion; readonly reason: string } | undefined;
}

const nodePrefix = 'system:node:';

/** The node that a user name is of; undefined when it is the name of somebody else. */
function parseNodeName(user: string): string | undefined {
  if (!user.startsWith(nodePrefix)) return undefined;
  const name = user.slice(nodePrefix.length);
  return subdomainNames.whole(name).length === 0 ? name : undefined;
}

/** Nodes and service accounts have groups of their own in the constrained modes: only their name is chosen. */
const hasNameOnly = ({ uid, groups, extra }: ImpersonatedUser): boolean =>
  uid === undefined && groups.length === 0 && Object.keys(extra).length === 0;

/** Where the token of a service account says on which node its pod runs. */
const nodeNameKey = 'authentication.kubernetes.io/node-name';

/** Whether the requester is a service account whose token is bound to this node. */
function runsOn({ name, extra }: UserInfo, node: string): boolean {
  const nodes = extra?.[nodeNameKey];
  return parseAccountUserName(name) !== undefined && nodes?.length === 1 && nodes[0] === node;
}

/** How a constrained mode asks; the defaults are those of nearly all. */
interface ModeOptions {
  /** What the questions show of the requester. */
  readonly requester?: (user: UserInfo) => UserInfo;
  /** Which nodes the right has to be for. */
  readonly node?: (name: string) => string;
}

function createConstrainedMode(name: string, applies: Mode['applies'], { requester, node }: ModeOptions = {}): Mode {
  const constraint = `impersonate:${name}`;
  return {
    constraint,
    applies,
    parts: (wanted, request) => {
      const asked = requester ? { ...request, user: requester(request.user) } : request;
      const ask = createQuestions(asked, constraint, authentication);
      const ownNode = parseNodeName(wanted.name);
      return [
        { questions: [{ ...asked, verb: `impersonate-on:${name}:${request.verb}` }] },
        {
          questions: [
            ownNode === undefined
              ? (ask.account(wanted.name) ?? ask.user(wanted.name))
              : ask.node(node ? node(ownNode) : ownNode),
          ],
        },
        ...createChosenParts(wanted, ask),
      ];
    },
    toUser: (wanted) => userOf(wanted, parseNodeName(wanted.name) === undefined ? [] : ['system:nodes']),
  };
}

/** So the agents of all nodes, which share an account, are asked about alike: with the keys of what they carry alone. */
const withoutExtraValues = (user: UserInfo): UserInfo => ({
  ...user,
  extra: { 'authentication.kubernetes.io/associated-node-keys': Object.keys(user.extra ?? {}).sort() },
});

const authentication = 'authentication.k8s.io';

/** In the order in which they are tried. */
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
      const ask = createQuestions(request, 'impersonate', '');
      return [
        { questions: [ask.account(name) ?? ask.user(name)] },
        { questions: uid === undefined ? [] : [ask.uid(uid)] },
        { questions: groups.map(ask.group) },
        { questions: createExtraQuestions(extra, ask) },
      ];
    },
    toUser: (wanted) => userOf(wanted, []),
  },
];

interface QuestionFactory {
  user(name: string): AccessQuestion;
  /** Undefined when the name is no service account's. */
  account(name: string): AccessQuestion | undefined;
  node(name: string): AccessQuestion;
  uid(uid: string): AccessQuestion;
  group(name: string | undefined): AccessQuestion;
  extra(key: string | undefined, value: string | undefined): AccessQuestion;
}

const nothing = { subresource: undefined, namespace: undefined, name: undefined };

/** The questions about parts of a user. In the classic mode users and groups are of the core group. */
function createQuestions({ user, path }: AccessQuestion, verb: string, ofUsersAndGroups: string): QuestionFactory {
  const ask = (group: string, resource: string, more: Partial<ResourceQuestion>): AccessQuestion => ({
    user,
    verb,
    path,
    resource: { ...nothing, group, version: 'v1', resource, ...more },
  });
  return {
    user: (name) => ask(ofUsersAndGroups, 'users', { name }),
    account: (name) => {
      const account = parseAccountUserName(name);
      return account && ask(ofUsersAndGroups, 'serviceaccounts', account);
    },
    node: (name) => ask(ofUsersAndGroups, 'nodes', { name }),
    uid: (uid) => ask(authentication, 'uids', { name: uid }),
    group: (name) => ask(ofUsersAndGroups, 'groups', { name }),
    extra: (key, value) => ask(authentication, 'userextras', { subresource: key, name: value }),
  };
}

const createExtraQuestions = (extra: ImpersonatedUser['extra'], ask: QuestionFactory): AccessQuestion[] =>
  Object.entries(extra).flatMap(([key, values]) => values.map((value) => ask.extra(key, value)));

/** From so many groups, or values of extra, on it is first asked whether all of them may be impersonated. */
const wildcardMin = 4;

/** What may be chosen besides the name, as a constrained mode asks about it. */
function createChosenParts({ uid, groups, extra }: ImpersonatedUser, ask: QuestionFactory): Part[] {
  const ofExtra = createExtraQuestions(extra, ask);
  const masters = groups.includes(mastersGroup);
  const wrongExtra = findExtraProblem(extra);
  return [
    { questions: uid === undefined ? [] : [ask.uid(uid)] },
    {
      questions: groups.map(ask.group),
      wildcard: groups.length >= wildcardMin ? ask.group('*') : undefined,
      // Members may do everything, and the constrained right is for letting somebody do a little.
      forbidden: masters
        ? { attributes: ask.group(mastersGroup), reason: `impersonating the ${mastersGroup} group is not allowed` }
        : undefined,
    },
    {
      questions: ofExtra,
      wildcard: ofExtra.length >= wildcardMin ? ask.extra('*', '*') : undefined,
      forbidden:
        wrongExtra === undefined ? undefined : { attributes: ask.extra(undefined, undefined), reason: wrongExtra },
    },
  ];
}

/** What is wrong with the keys: in a constrained mode each is a lower-case path below a domain. */
function findExtraProblem(extra: ImpersonatedUser['extra']): string | undefined {
  for (const key of Object.keys(extra)) {
    const [domain, path] = [key.slice(0, Math.max(key.indexOf('/'), 0)), key.slice(key.indexOf('/') + 1)];
    const problems =
      domain === '' || path === ''
        ? [invalidKey(key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
        : [
            ...subdomainNames.whole(domain).map((problem) => invalidKey(domain, problem)),
            ...(pathForm.test(path)
              ? []
              : [invalidKey(path, `Invalid path (regex used for validation is '${pathCharacters}')`)]),
          ];
    if (problems.length > 0)
      return `impersonating an invalid key in extra is not allowed: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`;
    if (key !== key.toLowerCase())
      return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
  }
  return undefined;
}

const invalidKey = (value: string, problem: string): string =>
  `extra.key: Invalid value: ${JSON.stringify(value)}: ${problem}`;

const pathCharacters = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathForm = new RegExp(`^${pathCharacters}$`);

/** The user that the request goes on as. A service account without groups gets those of all such accounts. */
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
