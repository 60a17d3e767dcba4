import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { defineKind, type KubeObject, subdomainNames } from '@cluster-apiserver/model';
import { type AdmissionPlugin, type Attempt, admission } from './admission.ts';
import { chooseAdmissionPlugins } from './choose-plugins.ts';

const kind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  shortNames: [],
  description: '',
  fields: {},
  names: subdomainNames,
  qualifiedFinalizers: false,
  createOnReplace: false,
  ownsOthers: false,
  deletedAnswer: 'object',
  subresources: [],
  selectableFields: {},
  unknownSelectorField: (name) => name,
});
const attempt: Attempt = {
  operation: 'CREATE',
  kind,
  subresource: undefined,
  namespace: 'n',
  name: 'a',
  object: { metadata: { name: 'a' }, words: [] },
  oldObject: undefined,
  user: { name: 'somebody', groups: [] },
  dryRun: false,
  call: callUntil(0),
};
const saying = (word: string, later = false): AdmissionPlugin => {
  const mutate = ({ object }: Attempt): KubeObject =>
    ({ ...object, words: [...((object as KubeObject).words as string[]), word] }) as KubeObject;
  return { name: word, mutate: later ? async (asked) => mutate(asked) : mutate };
};
const relying = (key: string, later = false): AdmissionPlugin => {
  const premise = { key, revision: 1 };
  return { name: key, validate: () => (later ? Promise.resolve(premise) : premise) };
};

describe('admission', () => {
  test('asks nobody where nobody has a say', () => {
    expect(admission([]).mutate(attempt)).toBe(attempt.object);
    expect(admission([]).validate(attempt)).toEqual([]);
  });

  test.each([
    [false, false, false],
    [true, false, false],
    [false, true, false],
    [true, true, true],
  ])('hands the object from one to the next in their order (%s, %s, %s to wait for)', async (...later) => {
    const plugins = ['one', 'two', 'three'].map((word, at) => saying(word, later[at]));
    expect(await admission(plugins).mutate(attempt)).toMatchObject({ words: ['one', 'two', 'three'] });
    expect(attempt.object).toMatchObject({ words: [] });
  });

  test.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('gathers what the write relies on (%s, %s to wait for)', async (...later) => {
    const plugins = [relying('one', later[0]), { name: 'silent', validate: () => undefined }, relying('two', later[1])];
    expect(await admission(plugins).validate(attempt)).toEqual([
      { key: 'one', revision: 1 },
      { key: 'two', revision: 1 },
    ]);
  });

  test('waits for nothing where nobody makes it wait', () => {
    const asked = admission([saying('one'), relying('two')]);
    expect(asked.mutate(attempt)).toMatchObject({ words: ['one'] });
    expect(asked.validate(attempt)).toEqual([{ key: 'two', revision: 1 }]);
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
    await expect((async () => admission(plugins).validate(attempt))()).rejects.toBe(refused);
    expect(asked).toEqual([]);
  });
});

describe('the plugins that an operator chooses', () => {
  test.each([
    [[], [], ['NamespaceAutoProvision']],
    [[], ['NamespaceAutoProvision'], []],
    [['NamespaceLifecycle'], [], ['NamespaceLifecycle']],
    [['NamespaceLifecycle'], ['NamespaceAutoProvision'], ['NamespaceLifecycle']],
    [['NamespaceAutoProvision'], [], ['NamespaceAutoProvision']],
    [['NamespaceAutoProvision'], ['NamespaceLifecycle'], ['NamespaceAutoProvision']],
  ])('with %j on and %j off are %j', (enabled, disabled, plugins) => {
    expect(chooseAdmissionPlugins(enabled, disabled)).toEqual({ plugins, faults: [] });
  });

  test('are named by names that there are, each on one side', () => {
    expect(chooseAdmissionPlugins(['NamespaceLifecycl'], ['Nothing']).faults).toEqual([
      '--enable-admission-plugins: there is no "NamespaceLifecycl"; did you mean NamespaceLifecycle?',
      '--disable-admission-plugins: there is no "Nothing"; there is NamespaceLifecycle, NamespaceAutoProvision',
    ]);
    expect(chooseAdmissionPlugins(['NamespaceLifecycle'], ['NamespaceLifecycle']).faults).toHaveLength(1);
    expect(chooseAdmissionPlugins(['NamespaceLifecycle', 'NamespaceAutoProvision'], []).faults).toHaveLength(1);
  });
});
