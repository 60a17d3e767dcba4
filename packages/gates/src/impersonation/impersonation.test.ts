import { describe, expect, test } from '@jest/globals';
import { assert, asyncProperty, subarray } from 'fast-check';
import { callUntil } from '@cluster-apiserver/base';
import type { AccessAttributes } from '@cluster-apiserver/model';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type Impersonation, type Impersonator, createImpersonator } from './impersonator.ts';
import { ImpersonationHeaderError, readImpersonatedUser } from './impersonated-user.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const caller = { name: 'ann', groups: ['system:authenticated'] };
const request: AccessAttributes = {
  user: caller,
  verb: 'list',
  path: '/api/v1/namespaces/a/events',
  resource: { group: '', version: 'v1', resource: 'events', subresource: undefined, namespace: 'a', name: undefined },
};

/** As an operator would write what is asked: `impersonate group/resource/subresource namespace name`. */
const inWords = ({ verb, resource }: AccessAttributes): string => {
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

async function answerTo(
  impersonate: Impersonator,
  lines: readonly [string, string][],
  asked: AccessAttributes = request,
): Promise<Impersonation> {
  const wanted = readImpersonatedUser(lines);
  if (!wanted) throw new Error('the headers name no user to impersonate');
  return impersonate(wanted, asked, call);
}

const shown = (answer: Impersonation): unknown => ('user' in answer ? answer.user : inWords(answer.refused.attributes));

/** For a caller whom the server has not seen before. */
const become = async (authorizer: Authorizer, ...lines: [string, string][]): Promise<unknown> =>
  shown(await answerTo(createImpersonator(authorizer), lines));

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

  test('authorizes each part of the user as the caller and reports the first one that is not allowed', async () => {
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
    expect(all.asked).toEqual(['impersonate-on:user-info:list events in a', ...parts]);
    for (const missing of parts) {
      let revoked = false;
      const authorizer = allowing((words) => legacy(words) && !(revoked && words === missing));
      const impersonate = createImpersonator(authorizer);
      await answerTo(impersonate, lines);
      revoked = true;
      expect(shown(await answerTo(impersonate, lines))).toBe(missing);
    }
  });

  test('authorizes a bounded number of parts at a time and reports the first refusal in their order', async () => {
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
    const refusal = await createImpersonator(authorizer)(wanted, request, call);
    expect(refusal).toMatchObject({ refused: { attributes: { verb: 'impersonate-on:user-info:list' } } });
    expect(most).toBe(8);
    expect(asked.length).toBeLessThan(520);
  });

  test('authorizes a service account in its namespace', async () => {
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

  test('a grant for one user attribute does not extend to another', async () => {
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

  test('tries the mode that was allowed last first and answers with its refusal', async () => {
    const authorizer = allowing((words) => words === 'impersonate users bob');
    const impersonate = createImpersonator(authorizer);
    const eve: [string, string][] = [['impersonate-user', 'eve']];
    expect(shown(await answerTo(impersonate, eve))).toBe('impersonate-on:user-info:list events in a');
    expect(await answerTo(impersonate, [['impersonate-user', 'bob']])).toMatchObject({ constraint: undefined });
    authorizer.asked.length = 0;
    expect(await answerTo(impersonate, [['impersonate-user', 'bob']])).toMatchObject({ user: { name: 'bob' } });
    expect(authorizer.asked).toEqual(['impersonate users bob']);
    expect(shown(await answerTo(impersonate, eve))).toBe('impersonate users eve');
  });

  test('caches what was allowed per caller', async () => {
    const impersonate = createImpersonator({
      authorize: (question) => ({ verdict: inWords(question) === 'impersonate users bob' ? 'allow' : 'noOpinion' }),
    });
    const other = { ...request, user: { name: 'other', groups: [] } };
    const eve: [string, string][] = [['impersonate-user', 'eve']];
    await answerTo(impersonate, [['impersonate-user', 'bob']]);
    expect(shown(await answerTo(impersonate, eve))).toBe('impersonate users eve');
    expect(shown(await answerTo(impersonate, eve, other))).toBe('impersonate-on:user-info:list events in a');
  });

  const everyConstrained = (): ReturnType<typeof allowing> => allowing((words) => /^impersonate(-on)?:/.test(words));

  test.each<[string, [string, string][], string, string]>([
    [
      'a member of system:masters',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-group', 'system:masters'],
      ],
      'impersonate:user-info authentication.k8s.io/groups system:masters',
      'impersonating the system:masters group is not allowed',
    ],
    [
      'a key of extra without a domain',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-extra-scopes', 'x'],
      ],
      'impersonate:user-info authentication.k8s.io/userextras',
      'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": must be a domain-prefixed path (such as "acme.io/foo")',
    ],
    [
      'a key of extra below no domain name',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-extra-a_b/c', 'x'],
      ],
      'impersonate:user-info authentication.k8s.io/userextras',
      'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "a_b": a lowercase RFC 1123 subdomain',
    ],
    [
      'a key of extra with a path of other characters',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-extra-a.io/b%20c', 'x'],
      ],
      'impersonate:user-info authentication.k8s.io/userextras',
      'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "b c": Invalid path',
    ],
    [
      'a key of extra with capital letters',
      [
        ['impersonate-user', 'bob'],
        ['impersonate-extra-a.io/%42', 'x'],
      ],
      'impersonate:user-info authentication.k8s.io/userextras',
      'impersonating a non-lowercase key in extra is not allowed: "a.io/B"',
    ],
  ])('the constrained right never makes %s', async (_, lines, attributes, reason) => {
    const answer = await answerTo(createImpersonator(everyConstrained()), lines);
    expect(shown(answer)).toBe(attributes);
    expect(answer).toMatchObject({ refused: { verdict: 'deny', reason: expect.stringContaining(reason) } });
  });

  test.each([
    ['system:serviceaccount:team:robot', 'impersonate serviceaccounts in team robot'],
    ['system:node:one', 'impersonate users system:node:one'],
  ])('for %s with more than a name only the classic right counts', async (name, missing) => {
    for (const more of [['impersonate-group', 'devs'] as const, ['impersonate-uid', 'u7'] as const]) {
      const lines: [string, string][] = [['impersonate-user', name], [...more]];
      const authorizer = everyConstrained();
      expect(await become(authorizer, ...lines)).toBe(missing);
      expect(authorizer.asked).toEqual([missing]);
    }
  });

  test('with four or more groups or extra values, authorizes the wildcard first', async () => {
    const groups = ['a', 'b', 'c', 'd'].map((name): [string, string] => ['impersonate-group', name]);
    const extra = ['1', '2', '3', '4'].map((value): [string, string] => ['impersonate-extra-a.io/k', value]);
    const lines: [string, string][] = [['impersonate-user', 'bob'], ...groups, ...extra];
    const all = everyConstrained();
    expect(await become(all, ...lines)).toMatchObject({ groups: ['a', 'b', 'c', 'd', 'system:authenticated'] });
    const whole = [
      'impersonate-on:user-info:list events in a',
      'impersonate:user-info authentication.k8s.io/users bob',
      'impersonate:user-info authentication.k8s.io/groups *',
      'impersonate:user-info authentication.k8s.io/userextras/* *',
    ];
    expect(all.asked).toEqual(whole);
    const each = allowing((words) => /^impersonate(-on)?:/.test(words) && !words.endsWith('*'));
    expect(await become(each, ...lines)).toMatchObject({ name: 'bob' });
    expect(each.asked).toHaveLength(whole.length + 8);
  });

  describe('of a node', () => {
    const agent = {
      name: 'system:serviceaccount:kube-system:agent',
      groups: ['system:authenticated'],
      extra: {
        'authentication.kubernetes.io/pod-name': ['agent-x'],
        'authentication.kubernetes.io/node-name': ['one'],
      },
    };
    const asNode = async (
      user: typeof agent,
      node: string,
      rights: RegExp,
    ): Promise<[Impersonation, AccessAttributes[]]> => {
      const asked: AccessAttributes[] = [];
      const authorizer: Authorizer = {
        authorize: (attributes) => {
          asked.push(attributes);
          return { verdict: rights.test(inWords(attributes)) ? 'allow' : 'noOpinion' };
        },
      };
      const lines: [string, string][] = [['impersonate-user', `system:node:${node}`]];
      return [await answerTo(createImpersonator(authorizer), lines, { ...request, user }), asked];
    };
    const user = { name: 'system:node:one', groups: ['system:nodes', 'system:authenticated'] };

    test('by its own agent is authorized as associated-node with the name *', async () => {
      const [answer, asked] = await asNode(agent, 'one', /associated-node/);
      expect(answer).toEqual({ user, constraint: 'impersonate:associated-node' });
      expect(asked.map(inWords)).toEqual([
        'impersonate-on:associated-node:list events in a',
        'impersonate:associated-node authentication.k8s.io/nodes *',
      ]);
      const keys = ['authentication.kubernetes.io/node-name', 'authentication.kubernetes.io/pod-name'];
      for (const question of asked)
        expect(question.user).toEqual({
          ...agent,
          extra: { 'authentication.kubernetes.io/associated-node-keys': keys },
        });
    });

    test.each([
      ['another node', agent, 'two'],
      ['somebody who is no service account', { ...agent, name: 'ann' }, 'one'],
      [
        'an agent of two nodes',
        { ...agent, extra: { ...agent.extra, 'authentication.kubernetes.io/node-name': ['one', 'two'] } },
        'one',
      ],
    ])('is not given to %s', async (_, requester, node) => {
      const [answer] = await asNode(requester, node, /associated-node/);
      expect(shown(answer)).toBe('impersonate-on:arbitrary-node:list events in a');
    });

    test('with any name needs the right for that name', async () => {
      const rights = /impersonate-on:arbitrary-node|impersonate:arbitrary-node .*nodes one$/;
      expect((await asNode(agent, 'one', rights))[0]).toEqual({ user, constraint: 'impersonate:arbitrary-node' });
      const [answer] = await asNode(agent, 'two', rights);
      expect(shown(answer)).toBe('impersonate:arbitrary-node authentication.k8s.io/nodes two');
    });

    test('by the legacy right is a user without groups of its own', async () => {
      const [answer] = await asNode(agent, 'one', /^impersonate /);
      expect(answer).toEqual({ user: { name: user.name, groups: ['system:authenticated'] }, constraint: undefined });
    });

    test('with an invalid node name is treated as an ordinary user', async () => {
      const [answer] = await asNode(agent, 'One', /user-info/);
      expect(answer).toMatchObject({ constraint: 'impersonate:user-info' });
    });
  });

  test('an authorizer error is a refusal whose message says so', async () => {
    const failing = createImpersonator({
      authorize: () => ({ verdict: 'noOpinion', reason: 'no rule', error: new Error('the webhook is away') }),
    });
    const answer = await answerTo(failing, [['impersonate-user', 'bob']]);
    expect(answer).toMatchObject({ refused: { verdict: 'noOpinion', reason: 'the webhook is away: no rule' } });
    expect(answer).not.toHaveProperty('refused.error');
  });

  test('the answer is pending as long as one of the rights cannot be decided', async () => {
    const answer = await answerTo(
      createImpersonator({ authorize: ({ verb }) => ({ verdict: verb === 'impersonate' ? 'notReady' : 'noOpinion' }) }),
      [['impersonate-user', 'bob']],
    );
    expect(answer).toMatchObject({ refused: { verdict: 'notReady' } });
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
      'too many headers',
      [
        ['impersonate-user', 'bob'],
        ...Array.from({ length: 1_000 }, (): [string, string] => ['impersonate-group', 'devs']),
      ],
    ],
  ])('%s are refused before anybody is asked', (_, lines) => {
    expect(() => readImpersonatedUser(lines)).toThrow(ImpersonationHeaderError);
    expect(() => readImpersonatedUser(lines)).not.toThrow(/bob|eve|u7|masters/);
  });

  test('every combination of headers needs exactly the rights for its parts', async () => {
    const headers: [string, string, string][] = [
      ['impersonate-uid', 'u7', 'impersonate authentication.k8s.io/uids u7'],
      ['impersonate-group', 'devs', 'impersonate groups devs'],
      ['impersonate-group', 'system:masters', 'impersonate groups system:masters'],
      ['impersonate-extra-a%2fb', 'x', 'impersonate authentication.k8s.io/userextras/a/b x'],
      ['impersonate-extra-A', 'y', 'impersonate authentication.k8s.io/userextras/A y'],
    ];
    const rights = ['impersonate users bob', ...headers.map(([, , right]) => right)];
    await assert(
      asyncProperty(subarray(headers), subarray(rights), async (chosen, lacking) => {
        const needed = ['impersonate users bob', ...chosen.map(([, , right]) => right)];
        const lines = chosen.map(([name, value]): [string, string] => [name, value]);
        const answer = await become(
          allowing((words) => rights.includes(words) && !lacking.includes(words)),
          ['impersonate-user', 'bob'],
          ...lines,
        );
        expect(typeof answer === 'object').toBe(!needed.some((right) => lacking.includes(right)));
      }),
      { numRuns: 500, seed: 140 },
    );
  });
});

test('a request without impersonation headers does not impersonate', () => {
  expect(readImpersonatedUser([])).toBeUndefined();
});
