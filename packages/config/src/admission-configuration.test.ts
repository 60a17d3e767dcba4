import { describe, expect, test } from '@jest/globals';
import { type AdmissionConfiguration, ConfigurationError, loadAdmissionConfiguration } from './index.ts';

const names = [
  'NamespaceExists',
  'EventRateLimit',
  'ValidatingAdmissionPolicy',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionWebhook',
];
const limits = { apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1', kind: 'Configuration' };
const server = { type: 'Server', qps: 5, burst: 10 };
const contents: Readonly<Record<string, string>> = {
  '/etc/admission/limits.yaml': JSON.stringify({ ...limits, limits: [server] }),
  '/etc/other.yaml': JSON.stringify({ ...limits, limits: [{ ...server, type: 'User' }] }),
  '/etc/admission/faulty.yaml': JSON.stringify({ ...limits, limits: [{ ...server, qps: 0, burst: -1 }] }),
  '/etc/admission/broken.yaml': 'a: [',
};
const reads: string[] = [];
const load = (plugins: unknown, more: object = {}): Promise<AdmissionConfiguration> =>
  loadAdmissionConfiguration(
    JSON.stringify({ apiVersion: 'apiserver.config.platform.io/v1', kind: 'AdmissionConfiguration', plugins, ...more }),
    {
      file: '/etc/admission/admission.yaml',
      readFile: async (path) => {
        reads.push(path);
        const content = contents[path];
        if (content === undefined) throw new Error(`no file ${path}`);
        return Buffer.from(content);
      },
      problemOfName: (name) => (names.includes(name) ? undefined : 'there is none'),
    },
  );
const embedded = (...all: unknown[]): object => ({
  name: 'EventRateLimit',
  configuration: { ...limits, limits: all },
});

async function problemsOf(plugins: unknown, more?: object): Promise<readonly string[]> {
  try {
    await load(plugins, more);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}

describe('an admission configuration is accepted', () => {
  test.each<[string, unknown, object]>([
    ['without plugins', undefined, {}],
    ['with an empty list of plugins', [], {}],
    ['with a plugin that is only named', [{ name: 'NamespaceExists' }], {}],
    ['with a plugin that could be configured and is not', [{ name: 'EventRateLimit', path: '' }], {}],
    [
      'with an embedded configuration',
      [embedded(server, { type: 'SourceAndObject', qps: 1, burst: 2, cacheSize: 3 })],
      {
        EventRateLimit: {
          limits: [
            { ...server, cacheSize: 4096 },
            { type: 'SourceAndObject', qps: 1, burst: 2, cacheSize: 3 },
          ],
        },
      },
    ],
    [
      'with the path of a file beside it',
      [{ name: 'EventRateLimit', path: 'limits.yaml' }],
      { EventRateLimit: { limits: [{ ...server, cacheSize: 4096 }] } },
    ],
    [
      'with the path of a file elsewhere',
      [{ name: 'EventRateLimit', path: '/etc/other.yaml' }],
      { EventRateLimit: { limits: [{ ...server, type: 'User', cacheSize: 4096 }] } },
    ],
    [
      'with directories of manifests',
      [
        {
          name: 'ValidatingAdmissionPolicy',
          configuration: {
            apiVersion: 'apiserver.config.k8s.io/v1',
            kind: 'ValidatingAdmissionPolicyConfiguration',
            staticManifestsDir: '/etc/policies',
          },
        },
        {
          name: 'MutatingAdmissionPolicy',
          configuration: {
            apiVersion: 'apiserver.config.platform.io/v1',
            kind: 'MutatingAdmissionPolicyConfiguration',
          },
        },
        {
          name: 'MutatingAdmissionWebhook',
          configuration: {
            apiVersion: 'apiserver.config.k8s.io/v1',
            kind: 'WebhookAdmissionConfiguration',
            kubeConfigFile: '',
            staticManifestsDir: '/etc/webhooks',
          },
        },
      ],
      {
        ValidatingAdmissionPolicy: { staticManifestsDir: '/etc/policies' },
        MutatingAdmissionPolicy: { staticManifestsDir: undefined },
        MutatingAdmissionWebhook: { staticManifestsDir: '/etc/webhooks' },
      },
    ],
  ])('%s', async (_, plugins, expected) => {
    expect(await load(plugins)).toEqual(expected);
  });

  test('in the group of kube-apiserver', async () => {
    expect(await load([embedded(server)], { apiVersion: 'apiserver.config.k8s.io/v1' })).toHaveProperty(
      'EventRateLimit',
    );
  });

  test('with an inline configuration that takes precedence over a path, which is not read', async () => {
    reads.length = 0;
    const both = { ...embedded({ ...server, qps: 7 }), path: 'absent.yaml' };
    expect(await load([both])).toMatchObject({ EventRateLimit: { limits: [{ qps: 7 }] } });
    expect(reads).toEqual([]);
  });
});

describe('an admission configuration is rejected with', () => {
  test.each<[string, unknown, string[]]>([
    ['plugins that are no list', {}, ['plugins: expected a list, got an object']],
    ['a plugin without a name', [{ path: 'limits.yaml' }], ['plugins[0].name: Required value']],
    ['a name that is no text', [{ name: 1 }], ['plugins[0].name: expected a string, got a number']],
    [
      'a plugin that is not there',
      [{ name: 'NamespaceExists' }, { name: 'PodSecurity', path: 'x' }],
      ['plugins[1].name: Unsupported value: "PodSecurity": there is none'],
    ],
    [
      'a plugin that is there twice',
      [{ name: 'NamespaceExists' }, { name: 'NamespaceExists' }],
      ['plugins[1].name: Duplicate value: "NamespaceExists"'],
    ],
    ['an unknown field', [{ name: 'NamespaceExists', config: {} }], ['plugins[0]: unknown field "config"']],
    [
      'a configuration of a plugin that has none',
      [{ name: 'NamespaceExists', configuration: {} }],
      ['plugins[0].configuration: Forbidden: NamespaceExists has no configuration'],
    ],
    [
      'a file for a plugin that has no configuration',
      [{ name: 'NamespaceExists', path: 'limits.yaml' }],
      ['plugins[0].path: Forbidden: NamespaceExists has no configuration'],
    ],
    [
      'a configuration of another kind',
      [{ name: 'EventRateLimit', configuration: { apiVersion: 'v1', kind: 'Pod' } }],
      [
        'plugins[0].configuration.kind: expected Configuration',
        'plugins[0].configuration.apiVersion: expected eventratelimit.admission.k8s.io/v1alpha1',
        'plugins[0].configuration.limits: Invalid value: []: must not be empty',
      ],
    ],
    [
      'an unknown field of a configuration',
      [{ name: 'EventRateLimit', configuration: { ...limits, limits: [server], limit: 1 } }],
      ['plugins[0].configuration: unknown field "limit"'],
    ],
    [
      'a limit of no type',
      [embedded({ qps: 1, burst: 1 })],
      ['plugins[0].configuration.limits[0].type: Required value'],
    ],
    [
      'limits that admit nothing',
      [embedded({ ...server, qps: 0 }, { type: 'User', qps: 1 }, { ...server, qps: 1.5 })],
      [
        'plugins[0].configuration.limits[0].qps: Invalid value: 0: must be positive',
        'plugins[0].configuration.limits[1].burst: Required value',
        'plugins[0].configuration.limits[2].qps: expected a whole number without a fraction or an exponent, got 1.5',
      ],
    ],
    [
      'a cache of less than nothing',
      [embedded({ ...server, cacheSize: -1 }, { ...server, type: 'User', cacheSize: -1 })],
      ['plugins[0].configuration.limits[1].cacheSize: Invalid value: -1: must not be negative'],
    ],
    [
      'a file that is not there',
      [{ name: 'EventRateLimit', path: 'absent.yaml' }],
      ['plugins[0].path: Invalid value: "absent.yaml": cannot read it: no file /etc/admission/absent.yaml'],
    ],
    [
      'a file that is faulty',
      [{ name: 'EventRateLimit', path: 'faulty.yaml' }],
      [
        'plugins[0].path: Invalid value: "faulty.yaml": limits[0].qps: Invalid value: 0: must be positive',
        'plugins[0].path: Invalid value: "faulty.yaml": limits[0].burst: Invalid value: -1: must be positive',
      ],
    ],
    [
      'a file that is no YAML',
      [{ name: 'EventRateLimit', path: 'broken.yaml' }],
      [expect.stringContaining('plugins[0].path: Invalid value: "broken.yaml": the file is not valid YAML') as never],
    ],
    [
      'a directory that is relative to nothing',
      [
        {
          name: 'ValidatingAdmissionPolicy',
          configuration: {
            apiVersion: 'apiserver.config.k8s.io/v1',
            kind: 'ValidatingAdmissionPolicyConfiguration',
            staticManifestsDir: 'policies',
          },
        },
      ],
      ['plugins[0].configuration.staticManifestsDir: Invalid value: "policies": must be an absolute file path'],
    ],
    [
      'credentials of webhooks',
      [
        {
          name: 'MutatingAdmissionWebhook',
          configuration: {
            apiVersion: 'apiserver.config.k8s.io/v1',
            kind: 'WebhookAdmissionConfiguration',
            kubeConfigFile: '/etc/kubeconfig',
          },
        },
      ],
      ['plugins[0].configuration.kubeConfigFile: Forbidden: no credentials are sent to admission webhooks'],
    ],
  ])('%s', async (_, plugins, problems) => {
    expect(await problemsOf(plugins)).toEqual(problems);
  });

  test('all problems at once, including those of referenced files', async () => {
    const plugins = [{ name: 'EventRateLimit', path: 'absent.yaml' }, { name: 'Nothing' }];
    expect(await problemsOf(plugins, { extra: 1, apiVersion: 'v2' })).toEqual([
      'unknown field "extra"',
      'apiVersion: expected apiserver.config.platform.io/v1 or apiserver.config.k8s.io/v1',
      'plugins[1].name: Unsupported value: "Nothing": there is none',
      expect.stringContaining('plugins[0].path: Invalid value: "absent.yaml": cannot read it'),
    ]);
  });
});
