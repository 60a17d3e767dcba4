import { getOwn } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { contextOf } from '../../test/admission.ts';
import { type AdmissionPlugin, type AdmissionContext, createAdmission } from './admission.ts';
import { chooseAdmissionPlugins, describeUnknownPlugin } from './choose-plugins.ts';
import { alwaysDenyWrites } from './always-deny.ts';
import { createNamespaceExists } from './namespace-exists.ts';
import { serverUser } from '../server-user.ts';
import { createNamespaceAutoProvision, createNamespaceLifecycle, type Namespaces } from './namespaces.ts';

const context = contextOf({ object: { metadata: { name: 'a' }, words: [] } });
const kind = context.resource;
const saying = (word: string, later = false): AdmissionPlugin => {
  const mutate = ({ object }: AdmissionContext): KubeObject =>
    ({ ...object, words: [...((object as KubeObject).words as string[]), word] }) as KubeObject;
  return { name: word, mutate: later ? async (asked) => mutate(asked) : mutate };
};
const relying = (key: string, later = false): AdmissionPlugin => {
  const precondition = { key, revision: 1 };
  return { name: key, validate: () => (later ? Promise.resolve(precondition) : precondition) };
};

describe('admission', () => {
  test('calls no plugin where none handles the request', () => {
    expect(createAdmission([]).mutate(context)).toBe(context.object);
    expect(createAdmission([]).validate(context)).toEqual({ preconditions: [] });
  });

  test.each([
    [false, false, false],
    [true, false, false],
    [false, true, false],
    [true, true, true],
  ])('hands the object from one to the next in their order (%s, %s, %s to wait for)', async (...later) => {
    const plugins = ['one', 'two', 'three'].map((word, at) => saying(word, later[at]));
    expect(await createAdmission(plugins).mutate(context)).toMatchObject({ words: ['one', 'two', 'three'] });
    expect(context.object).toMatchObject({ words: [] });
  });

  test.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('gathers what the write relies on (%s, %s to wait for)', async (...later) => {
    const plugins = [relying('one', later[0]), { name: 'silent', validate: () => undefined }, relying('two', later[1])];
    expect(await createAdmission(plugins).validate(context)).toEqual({
      preconditions: [
        { key: 'one', revision: 1 },
        { key: 'two', revision: 1 },
      ],
    });
  });

  test.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('asks all once more when a later plugin changed what one wants to see (%s, %s to wait for)', async (...later) => {
    const rounds: boolean[] = [];
    const first: AdmissionPlugin = {
      ...saying('one', later[0]),
      reinvocable: true,
      validate: () => undefined,
    };
    const last: AdmissionPlugin = {
      name: 'last',
      mutate: (asked) => {
        rounds.push(asked.reinvocation);
        return saying('two', later[1]).mutate?.(asked);
      },
    };
    expect(await createAdmission([first, last]).mutate(context)).toMatchObject({ words: ['one', 'two', 'one', 'two'] });
    expect(rounds).toEqual([false, true]);
  });

  test('reinvokes when a plugin of several parts has changed the object itself', () => {
    const parts: AdmissionPlugin = { ...saying('one'), reinvocable: true, reinvokedByOwnChanges: true };
    expect(createAdmission([parts]).mutate(context)).toMatchObject({ words: ['one', 'one'] });
  });

  test.each<[string, readonly AdmissionPlugin[]]>([
    ['none wants to see it', [saying('one'), saying('two')]],
    ['only earlier ones changed it', [saying('one'), { ...saying('two'), reinvocable: true }]],
    [
      'no plugin changed it',
      [
        { ...saying('one'), reinvocable: true },
        { name: 'silent', mutate: ({ object }) => object },
      ],
    ],
  ])('asks once when %s', async (_, plugins) => {
    const words = plugins.map(({ name }) => name).filter((name) => name !== 'silent');
    expect(await createAdmission(plugins).mutate(context)).toMatchObject({ words });
  });

  test('stays synchronous when all plugins are synchronous', () => {
    const asked = createAdmission([saying('one'), relying('two')]);
    expect(asked.mutate(context)).toMatchObject({ words: ['one'] });
    expect(asked.validate(context)).toEqual({ preconditions: [{ key: 'two', revision: 1 }] });
  });

  test.each([false, true])('asks no further once one has refused (%s to wait for)', async (later) => {
    const refused = new Error('no');
    const asked: string[] = [];
    const plugins: AdmissionPlugin[] = [
      {
        name: 'refusing',
        validate: () => {
          if (later) return Promise.reject(refused);
          throw refused;
        },
      },
      {
        name: 'behind',
        validate: () => {
          asked.push('behind');
          return undefined;
        },
      },
    ];
    await expect((async () => createAdmission(plugins).validate(context))()).rejects.toBe(refused);
    expect(asked).toEqual([]);
  });
});

describe('The plugins of namespaces', () => {
  const made: string[] = [];
  const namespaces = (states: Readonly<Record<string, { readonly terminating: boolean }>>): Namespaces => ({
    find: (name) => {
      const found = getOwn(states, name);
      return found && { ...found, precondition: { key: name, revision: 1 } };
    },
    refresh: async () => {},
    create: async (name) => void made.push(name),
  });
  const reviews = { ...kind, group: 'authorization.k8s.io', plural: 'localsubjectaccessreviews' };

  test.each([
    ['an access review in a namespace that is not there', { resource: reviews, namespace: 'none' }, 'admits'],
    ['an access review in a namespace that terminates', { resource: reviews, namespace: 'leaving' }, 'admits'],
    ['what is behind an object that is not there', { subresource: 'token', namespace: 'none' }, 'admits'],
    ['a subresource in a terminating namespace', { subresource: 'token', namespace: 'leaving' }, 'refuses'],
    ['an object of a namespace that terminates', { namespace: 'leaving' }, 'refuses'],
  ])('see %s: %s', async (_, asked, expected) => {
    const known = namespaces({ leaving: { terminating: true } });
    for (const plugin of [createNamespaceAutoProvision(known), createNamespaceLifecycle(known)]) {
      const one = createAdmission([plugin]);
      const write = { ...context, ...asked };
      const answer = (async () => (await one.mutate(write), one.validate(write)))();
      if (expected === 'admits') expect((await answer).preconditions).toEqual([]);
      else await expect(answer).rejects.toThrow('is being terminated');
    }
    expect(made).toEqual([]);
  });

  const missing = { reason: 'NotFound', message: 'namespaces "none" not found' };
  test('NamespaceAutoProvision brings no namespace back for the server itself', async () => {
    const plugin = createAdmission([createNamespaceAutoProvision(namespaces({}))]);
    await expect(plugin.validate({ ...context, namespace: 'none', user: serverUser })).rejects.toMatchObject(missing);
    expect(made).toEqual([]);
  });

  test.each<[string, Partial<AdmissionContext>, object | readonly object[]]>([
    ['a creation in a namespace', { namespace: 'there' }, [{ key: 'there', revision: 1 }]],
    ['a creation in a namespace that terminates', { namespace: 'leaving' }, [{ key: 'leaving', revision: 1 }]],
    ['an update in a namespace', { operation: 'UPDATE', namespace: 'there' }, []],
    ['a cluster-scoped object', { namespace: undefined }, []],
    ['a namespace', { resource: { ...kind, plural: 'namespaces' }, namespace: 'none' }, []],
    ['a creation in none', { namespace: 'none' }, missing],
    ['an update in none', { operation: 'UPDATE', namespace: 'none' }, missing],
    ['a deletion in none', { operation: 'DELETE', namespace: 'none', object: undefined }, missing],
    ['an access review in none', { resource: reviews, namespace: 'none' }, missing],
    ['what is behind an object in none', { subresource: 'token', namespace: 'none' }, missing],
    ['a namespace that somebody else has just made', { namespace: 'new' }, [{ key: 'new', revision: 1 }]],
  ])('NamespaceExists sees %s', async (_, asked, expected) => {
    const states: Record<string, { terminating: boolean }> = {
      there: { terminating: false },
      leaving: { terminating: true },
    };
    const known: Namespaces = {
      ...namespaces(states),
      refresh: async () => void Object.assign(states, { new: { terminating: false } }),
    };
    const answer = (async () => createAdmission([createNamespaceExists(known)]).validate({ ...context, ...asked }))();
    if (Array.isArray(expected)) expect((await answer).preconditions).toEqual(expected);
    else await expect(answer).rejects.toMatchObject(expected);
  });
});

describe('AlwaysDeny', () => {
  test.each<[string, Partial<AdmissionContext>, string]>([
    ['a creation', {}, 'robots "a" is forbidden'],
    [
      'an object without a name yet',
      { name: undefined, object: { metadata: { generateName: 'a-' } } },
      'robots "a-" is forbidden',
    ],
    ['a deletion', { operation: 'DELETE', object: undefined }, 'robots "a" is forbidden'],
    ['a deletion of all', { operation: 'DELETE', object: undefined, name: undefined }, 'robots "Unknown" is forbidden'],
  ])('refuses %s', (_, asked, message) => {
    const one = createAdmission([alwaysDenyWrites]);
    for (const act of [one.mutate, one.validate])
      expect(() => act({ ...context, ...asked })).toThrow(`${message}: admission control is denying all modifications`);
  });
});

describe('the plugins that an operator chooses', () => {
  const byDefault = [
    'CertificateApproval',
    'CertificateSigning',
    'CertificateSubjectRestriction',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionWebhook',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionWebhook',
  ];
  test.each([
    [[], [], [...byDefault, 'NamespaceAutoProvision']],
    [[], ['NamespaceAutoProvision'], byDefault],
    [[], ['NamespaceAutoProvision', ...byDefault], []],
    [['NamespaceLifecycle'], [], ['NamespaceLifecycle', ...byDefault]],
    [['NamespaceLifecycle'], ['NamespaceAutoProvision'], ['NamespaceLifecycle', ...byDefault]],
    [['NamespaceAutoProvision'], [], [...byDefault, 'NamespaceAutoProvision']],
    [['NamespaceAutoProvision'], ['NamespaceLifecycle'], [...byDefault, 'NamespaceAutoProvision']],
    [['NamespaceExists'], [], ['NamespaceLifecycle', 'NamespaceExists', ...byDefault]],
    [['NamespaceExists'], ['NamespaceLifecycle'], ['NamespaceExists', ...byDefault]],
    [
      [
        'AlwaysDeny',
        'ValidatingAdmissionPolicy',
        'OwnerReferencesPermissionEnforcement',
        'EventRateLimit',
        'AlwaysAdmit',
      ],
      [],
      [
        'AlwaysAdmit',
        'EventRateLimit',
        'OwnerReferencesPermissionEnforcement',
        ...byDefault,
        'AlwaysDeny',
        'NamespaceAutoProvision',
      ],
    ],
  ])('with %j on and %j off are %j', (enabled, disabled, plugins) => {
    expect(chooseAdmissionPlugins(enabled, disabled)).toEqual({ plugins: [...plugins, 'ResourceQuota'], faults: [] });
  });

  test.each([
    ['NamespaceLifecycl', 'did you mean NamespaceLifecycle?'],
    [
      'Nothing',
      expect.stringMatching(
        /^there is AlwaysAdmit, NamespaceLifecycle, .*, AlwaysDeny, NamespaceAutoProvision, ResourceQuota$/,
      ),
    ],
    ['', expect.stringMatching(/^there is /)],
    ['constructor', expect.stringMatching(/^there is /)],
    ['LimitRanger', 'it is about pods, which are not served'],
    ['NodeRestriction', 'it is about nodes, which are not served'],
    ['PodSecurityPolicy', 'kube-apiserver has removed it, too'],
    ['EventRateLimit', undefined],
  ])('are none by the name %j: %s', (name, problem) => {
    expect(describeUnknownPlugin(name)).toEqual(problem);
  });

  test('are refused if unknown, or both enabled and disabled', () => {
    expect(chooseAdmissionPlugins(['NamespaceLifecycl'], ['LimitRanger']).faults).toEqual([
      '--enable-admission-plugins: there is no "NamespaceLifecycl": did you mean NamespaceLifecycle?',
      '--disable-admission-plugins: there is no "LimitRanger": it is about pods, which are not served',
    ]);
    expect(chooseAdmissionPlugins(['NamespaceLifecycle'], ['NamespaceLifecycle']).faults).toHaveLength(1);
    expect(chooseAdmissionPlugins(['NamespaceLifecycle', 'NamespaceAutoProvision'], []).faults).toHaveLength(1);
    expect(chooseAdmissionPlugins(['NamespaceExists', 'NamespaceAutoProvision'], []).faults).toHaveLength(1);
  });
});
