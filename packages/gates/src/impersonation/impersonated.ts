import { type Call, throwIfAborted } from '@cluster-apiserver/base';
import type { AccessDecision, AccessQuestion, ResourceQuestion, UserInfo } from '@cluster-apiserver/model';
import { assumedUser } from '../authentication/known-user.ts';
import { accountNamed } from '../authentication/service-account/account-name.ts';
import { accountGroups } from '../authentication/service-account/claims.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { mastersGroup } from '../authorization/privileged-groups.ts';
import type { WantedUser } from './wanted-user.ts';

/** What a caller asked for and may not do. */
export interface Refused {
  readonly attributes: AccessQuestion;
  readonly verdict: AccessDecision['verdict'];
  readonly reason?: string | undefined;
}

export type Impersonation = { readonly user: UserInfo } | { readonly refused: Refused };

/**
 * The user that a request goes on as, if its caller may. There are two kinds of right to it. The constrained one is
 * given for what is done and for whom: `impersonate-on:MODE:VERB` for the request, and `impersonate:MODE` for each part
 * of the user. The older one is `impersonate` for each part, whatever is done then; who has it needs no other. A caller
 * who has neither is told of the first thing that was missing.
 */
export async function impersonated(
  wanted: WantedUser,
  request: AccessQuestion,
  authorizer: Authorizer,
  call: Call,
): Promise<Impersonation> {
  let refused: Refused | undefined;
  for (const mode of modes) {
    if (!mode.fits(wanted)) continue;
    const found = await firstRefused(mode.questions(wanted, request), authorizer, call);
    if (!found) return { user: userOf(wanted) };
    refused ??= found;
  }
  return refused ? { refused } : { user: userOf(wanted) };
}

interface Mode {
  fits(wanted: WantedUser): boolean;
  questions(wanted: WantedUser, request: AccessQuestion): readonly AccessQuestion[];
}

const authentication = 'authentication.k8s.io';

const constrained = (name: string, fits: Mode['fits']): Mode => ({
  fits,
  questions: (wanted, request) => [
    { ...request, verb: `impersonate-on:${name}:${request.verb}` },
    ...partQuestions(wanted, request, `impersonate:${name}`, authentication),
  ],
});

const modes: readonly Mode[] = [
  constrained(
    'serviceaccount',
    (wanted) =>
      accountNamed(wanted.name) !== undefined &&
      wanted.uid === undefined &&
      wanted.groups.length === 0 &&
      Object.keys(wanted.extra).length === 0,
  ),
  constrained(
    'user-info',
    ({ name, groups, extra }) =>
      !name.startsWith('system:node:') &&
      !accountNamed(name) &&
      // Members may do everything, and the constrained right is for letting somebody do a little.
      !groups.includes(mastersGroup) &&
      Object.keys(extra).every(isExtraKey),
  ),
  { fits: () => true, questions: (wanted, request) => partQuestions(wanted, request, 'impersonate', '') },
];

/** A lower-case path below a domain, as keys that authenticators give have it. */
const isExtraKey = (key: string): boolean => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?\/[^\s%A-Z]+$/.test(key);

/** One question for each thing that makes the user. */
function partQuestions(
  { name, uid, groups, extra }: WantedUser,
  { user, path }: AccessQuestion,
  verb: string,
  ofUsersAndGroups: string,
): AccessQuestion[] {
  const ask = (group: string, resource: string, more: Partial<ResourceQuestion>): AccessQuestion => ({
    user,
    verb,
    path,
    resource: { ...nothing, group, version: 'v1', resource, ...more },
  });
  const account = accountNamed(name);
  return [
    account ? ask(ofUsersAndGroups, 'serviceaccounts', account) : ask(ofUsersAndGroups, 'users', { name }),
    ...(uid === undefined ? [] : [ask(authentication, 'uids', { name: uid })]),
    ...groups.map((group) => ask(ofUsersAndGroups, 'groups', { name: group })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ask(authentication, 'userextras', { subresource: key, name: value })),
    ),
  ];
}

const nothing = { subresource: undefined, namespace: undefined, name: undefined };

/** Questions under way at once: each may be a webhook that everybody else asks, too. */
const concurrentMax = 8;

/** The first question alone, which most refusals answer, and the others some at a time. */
async function firstRefused(
  questions: readonly AccessQuestion[],
  authorizer: Authorizer,
  call: Call,
): Promise<Refused | undefined> {
  for (let at = 0; at < questions.length; ) {
    throwIfAborted(call);
    const some = questions.slice(at, at === 0 ? 1 : at + concurrentMax);
    at += some.length;
    const decisions = await Promise.all(some.map(async (attributes) => authorizer.authorize(attributes, call)));
    for (const [index, decision] of decisions.entries())
      if (decision.verdict !== 'allow') return { ...decision, attributes: some[index] as AccessQuestion };
  }
  return undefined;
}

function userOf({ name, uid, groups, extra }: WantedUser): UserInfo {
  const account = accountNamed(name);
  return assumedUser({
    name,
    groups: account && groups.length === 0 ? accountGroups(account.namespace) : groups,
    ...(uid !== undefined && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  });
}
