import { describe, expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import type { AccessQuestion } from '@cluster-apiserver/model';
import type { Authorizer } from '../authorization/authorizer.ts';
import { impersonated } from './impersonated.ts';
import { ImpersonationHeaderError, wantedUser } from './wanted-user.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const caller = { name: 'ann', groups: ['system:authenticated'] };
const request: AccessQuestion = {
  user: caller,
  verb: 'list',
  path: '/api/v1/namespaces/a/events',
  resource: { group: '', version: 'v1', resource: 'events', subresource: undefined, namespace: 'a', name: undefined },
};

/** As an operator would write what is asked: `impersonate group/resource/subresource namespace name`. */
const inWords = ({ verb, resource }: AccessQuestion): string => {
  const { group = '', resource: plural, subresource, namespace, name } = resource ?? {};
  const what = [group, plural, subresource].filter(Boolean).join('/');
  return [verb, what, namespace && `in ${namespace}`, name].filter(Boolean).join(' ');
};

function allowing(rights: (words: string) => boolean): Authorizer & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    authorize: (attributes) => {
      expect(attributes.user).toBe(caller);
      asked.push(inWords(attributes));
      return rights(inWords(attributes)) ? { verdict: 'allow' } : { verdict: 'noOpinion', reason: 'no rule' };
    },
  };
}

const legacy = (words: string): boolean => words.startsWith('impersonate ');

async function become(authorizer: Authorizer, ...lines: [string, string][]): Promise<unknown> {
  const wanted = wantedUser(lines);
  if (!wanted) return undefined;
  const answer = await impersonated(wanted, request, authorizer, call);
  return 'user' in answer ? answer.user : inWords(answer.refused.attributes);
}

describe('Impersonation headers', () => {
  test.each<[[string, string][], object]>([
    [[['impersonate-user', 'bob']], { name: 'bob', groups: ['system:authenticated'] }],
    [
      [
        ['impersonate-user', 'bob'],
        ['impersonate-group', 'devs, ops'],
        ['impersonate-group', 'qa'],
        ['impersonate-uid', 'u7'],
      ],
      { name: 'bob', uid: 'u7', groups: ['devs, ops', 'qa', 'system:authenticated'] },
    ],
    [
      [
        ['impersonate-user', 'bob'],
        ['impersonate-group', 'system:unauthenticated'],
      ],
      { name: 'bob', groups: ['system:unauthenticated'] },
    ],
    [[['impersonate-user', 'system:anonymous']], { name: 'system:anonymous', groups: ['system:unauthenticated'] }],
    [
      [['impersonate-user', 'system:serviceaccount:team:robot']],
      {
        name: 'system:serviceaccount:team:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
      },
    ],
    [
      [
        ['impersonate-user', 'system:serviceaccount:team:robot'],
        ['impersonate-group', 'devs'],
      ],
      { name: 'system:serviceaccount:team:robot', groups: ['devs', 'system:authenticated'] },
    ],
    [
      [
        ['impersonate-user', 'bob'],
        ['impersonate-extra-acme.com%2fproject', 'x'],
        ['impersonate-extra-acme.com%2fproject', 'y'],
        ['impersonate-extra-100%', 'z'],
        ['impersonate-extra-__proto__', 'p'],
      ],
      {
        name: 'bob',
        groups: ['system:authenticated'],
        extra: { 'acme.com/project': ['x', 'y'], '100%': ['z'], ['__proto__']: ['p'] },
      },
    ],
  ])('%j make the user that they name', async (lines, user) => {
    expect(await become(allowing(legacy), ...lines)).toEqual(user);
    expect(Object.keys({})).toEqual([]);
  });

  test('each part of the user is asked about as the caller, and the first that is not allowed is told', async () => {
    const lines: [string, string][] = [
      ['impersonate-user', 'bob'],
      ['impersonate-uid', 'u7'],
      ['impersonate-group', 'devs'],
      ['impersonate-group', 'ops'],
      ['impersonate-extra-scopes', 'all'],
      ['impersonate-extra-scopes', 'some'],
    ];
    const parts = [
      'impersonate users bob',
      'impersonate authentication.k8s.io/uids u7',
      'impersonate groups devs',
      'impersonate groups ops',
      'impersonate authentication.k8s.io/userextras/scopes all',
      'impersonate authentication.k8s.io/userextras/scopes some',
    ];
    const all = allowing(legacy);
    await become(all, ...lines);
    expect(all.asked).toEqual(parts);
    for (const missing of parts) {
      const authorizer = allowing((words) => legacy(words) && words !== missing);
      expect(await become(authorizer, ...lines)).toBe(missing);
    }
  });

  test('of many parts some are asked at a time, and the first refusal in their order is told', async () => {
    let underWay = 0;
    let most = 0;
    const asked: string[] = [];
    const authorizer: Authorizer = {
      authorize: async ({ verb, resource }) => {
        asked.push(resource?.name ?? '');
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setImmediate(resolve));
        underWay--;
        const refused = verb !== 'impersonate' || (resource?.name ?? '') >= 'group-500';
        return { verdict: refused ? 'noOpinion' : 'allow' };
      },
    };
    const groups = Array.from({ length: 900 }, (_, at) => `group-${String(at).padStart(3, '0')}`);
    const wanted = { name: 'bob', uid: undefined, groups, extra: {} };
    const refusal = await impersonated(wanted, request, authorizer, call);
    expect(refusal).toMatchObject({ refused: { attributes: { verb: 'impersonate-on:user-info:list' } } });
    expect(most).toBe(8);
    expect(asked.length).toBeLessThan(520);
  });

  test('a service account is asked about in its namespace', async () => {
    const authorizer = allowing(legacy);
    await become(authorizer, ['impersonate-user', 'system:serviceaccount:team:robot']);
    expect(authorizer.asked).toEqual([
      'impersonate-on:serviceaccount:list events in a',
      'impersonate serviceaccounts in team robot',
    ]);
  });

  test.each([
    'system:serviceaccount:team',
    'system:serviceaccount:a:b:c',
    'system:serviceaccount:Team:x',
    'system:serviceaccount::x',
  ])('%s is a user like any other', async (name) => {
    const authorizer = allowing(legacy);
    await become(authorizer, ['impersonate-user', name]);
    expect(authorizer.asked.at(-1)).toBe(`impersonate users ${name}`);
  });

  test('who may act for somebody in one thing may not in another', async () => {
    const constrained = (words: string): boolean =>
      ['impersonate-on:user-info:list events in a', 'impersonate:user-info authentication.k8s.io/users bob'].includes(
        words,
      );
    expect(await become(allowing(constrained), ['impersonate-user', 'bob'])).toMatchObject({ name: 'bob' });
    expect(await become(allowing(constrained), ['impersonate-user', 'eve'])).toBe(
      'impersonate:user-info authentication.k8s.io/users eve',
    );
    const onlyWho = allowing((words) => words.startsWith('impersonate:user-info'));
    expect(await become(onlyWho, ['impersonate-user', 'bob'])).toBe('impersonate-on:user-info:list events in a');
  });

  test('the constrained right never makes a member of system:masters, nor a service account with groups of choice', async () => {
    const constrained = allowing((words) => /^impersonate(-on)?:/.test(words));
    for (const name of ['bob', 'system:serviceaccount:team:robot', 'system:node:one']) {
      const lines: [string, string][] = [
        ['impersonate-user', name],
        ['impersonate-group', 'system:masters'],
      ];
      expect(await become(constrained, ...lines)).toMatch(/^impersonate (users|serviceaccounts)/);
    }
  });

  test.each<[string, [string, string][]]>([
    ['groups without a user', [['impersonate-group', 'devs']]],
    ['a uid without a user', [['impersonate-uid', 'u7']]],
    ['extra without a user', [['impersonate-extra-a', 'b']]],
    [
      'two users',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-user', 'eve'],
      ],
    ],
    [
      'the same user twice',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-user', 'bob'],
      ],
    ],
    [
      'two uids',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-uid', '1'],
        ['impersonate-uid', '2'],
      ],
    ],
    ['an empty user', [['impersonate-user', '']]],
    [
      'an empty group',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-group', ''],
      ],
    ],
    [
      'an empty key',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-extra-', 'x'],
      ],
    ],
    ['underscores', [['impersonate_user', 'bob']]],
    [
      'an underscore beside the real one',
      [
        ['impersonate-user', 'bob'],
        ['impersonate_group', 'system:masters'],
      ],
    ],
    [
      'a header that is not known',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-groups', 'devs'],
      ],
    ],
    [
      'more headers than anybody is made of',
      [
        ['impersonate-user', 'bob'],
        ...Array.from({ length: 1_000 }, (): [string, string] => ['impersonate-group', 'devs']),
      ],
    ],
  ])('%s are refused before anybody is asked', (_, lines) => {
    expect(() => wantedUser(lines)).toThrow(ImpersonationHeaderError);
    expect(() => wantedUser(lines)).not.toThrow(/bob|eve|u7|masters/);
  });

  test('all combinations need exactly the rights to their parts', async () => {
    const random = seededRandom(140);
    const headers: [string, string, string][] = [
      ['impersonate-uid', 'u7', 'impersonate authentication.k8s.io/uids u7'],
      ['impersonate-group', 'devs', 'impersonate groups devs'],
      ['impersonate-group', 'system:masters', 'impersonate groups system:masters'],
      ['impersonate-extra-a%2fb', 'x', 'impersonate authentication.k8s.io/userextras/a/b x'],
      ['impersonate-extra-A', 'y', 'impersonate authentication.k8s.io/userextras/A y'],
    ];
    for (let round = 0; round < 500; round++) {
      const chosen = headers.filter(() => random.below(2) === 0);
      const granted = ['impersonate users bob', ...headers.map(([, , right]) => right)].filter(
        () => random.below(8) > 0,
      );
      const needed = ['impersonate users bob', ...chosen.map(([, , right]) => right)];
      const lines = chosen.map(([name, value]): [string, string] => [name, value]);
      const answer = await become(
        allowing((words) => granted.includes(words)),
        ['impersonate-user', 'bob'],
        ...lines,
      );
      const may = needed.every((right) => granted.includes(right));
      expect(typeof answer === 'object').toBe(may);
    }
  });
});

test('without any of these headers nobody wants to be somebody else', () => {
  expect(wantedUser([])).toBeUndefined();
});
