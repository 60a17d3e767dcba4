import { beforeAll, describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { drainMs, parseFlags } from '@cluster-apiserver/server';
import { chart, monitoringFiles, monitoringSource, ownFlags, read, readYaml, root, valueSets } from './chart-files.ts';
import {
  describeWithHelm,
  find,
  helm,
  type Manifest,
  manifestsIn,
  release,
  render,
  template,
  validate,
} from './helm.ts';
import { containerOf, podTemplateOf } from './pods.ts';

const slowTestMs = 120_000;

const trial = 'etcd.bundled.enabled=true';
const stored = { etcd: { endpoints: ['https://etcd.example.com:2379'] } };
/** Seconds to close connections to etcd and to write the last log lines. */
const closeSeconds = 5;
/** The chart's own containers; value sets may add others. */
const ours = ['apiserver', 'etcd', 'storage-rewrite', 'test'];

interface ScrapeEndpoint {
  readonly path: string;
  readonly relabelings: readonly { readonly replacement: string }[];
}

describeWithHelm('the chart', () => {
  test(
    'passes helm lint --strict with every value set',
    () => {
      for (const set of valueSets) {
        const { code, out, error } = helm('lint', '--strict', chart, '--values', path.join(chart, 'ci', set));
        expect({ set, code, output: code === 0 ? '' : `${out}${error}` }).toEqual({ set, code: 0, output: '' });
      }
    },
    slowTestMs,
  );

  test('is packaged with all required files and without the value sets of its tests', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'chart-'));
    try {
      const { code, error } = helm('package', chart, '--destination', folder);
      expect({ code, error }).toEqual({ code: 0, error: '' });
      const [archive = ''] = fs.readdirSync(folder);
      const shown = helm('show', 'readme', path.join(folder, archive));
      expect(shown.out.trim()).toBe(read('README.md').trim());
      expect(manifestsIn(helm('template', 'x', path.join(folder, archive), '--set', trial).out).length).toBeGreaterThan(
        5,
      );
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  test('the ServiceMonitor scrapes every job that the rules and dashboards select', () => {
    const { spec } = find(
      manifestsIn(template(['production-values.yaml']).out),
      'ServiceMonitor',
      `${release}-cluster-apiserver`,
    );
    const { endpoints } = spec as { readonly endpoints: readonly ScrapeEndpoint[] };
    const rules = [...monitoringFiles(monitoringSource).values()].join('\n');
    const selected = [...rules.matchAll(/job=\\?"([a-z-]+)/g)].map(([, job = '']) => job);
    expect(endpoints.map(({ relabelings }) => relabelings[0]?.replacement)).toEqual([...new Set(selected)].sort());
    expect(endpoints.map((endpoint) => endpoint.path)).toEqual(['/metrics', '/metrics/slis']);
  });

  describe.each(valueSets)('with %s', (set) => {
    let out: string;
    let manifests: readonly Manifest[];
    beforeAll(() => {
      const result = template([set]);
      expect(result).toMatchObject({ code: 0, error: '' });
      out = result.out;
      manifests = manifestsIn(out);
    });

    test('renders manifests that are valid by the Kubernetes schemas', () => {
      expect(validate(out)).toEqual([]);
    });

    test('starts the server with valid flags, each once', () => {
      const args = argsOf(manifests);
      expect(() => parseFlags(args)).not.toThrow();
      const names = args.map((arg) => /^--([^=]+)/.exec(arg)?.[1] ?? '');
      expect(names).toEqual([...new Set(names)]);
    });

    test('mounts a volume for each file of a flag', () => {
      const mounts = containerOf(find(manifests, 'Deployment', nameIn(manifests)), 'apiserver').volumeMounts ?? [];
      const files = argsOf(manifests).flatMap(
        (arg) => /^--[^=]+=(\/etc\/cluster-apiserver\/.+)$/.exec(arg)?.[1]?.split(',') ?? [],
      );
      expect(files.length).toBeGreaterThan(1);
      for (const file of files) expect(mounts.map(({ mountPath }) => mountPath)).toContain(path.dirname(file));
    });

    test('runs every pod unprivileged, as one user, with a read-only root file system', () => {
      const pods = manifests.flatMap((one) => podTemplateOf(one) ?? []);
      expect(pods.length).toBeGreaterThan(1);
      for (const { spec } of pods) {
        expect(spec.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 65_532,
          seccompProfile: { type: 'RuntimeDefault' },
        });
        expect(spec.automountServiceAccountToken).toBe(false);
        for (const container of spec.containers.filter(({ name }) => ours.includes(name)))
          expect(container).toMatchObject({
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
            resources: { limits: { memory: expect.anything() }, requests: { cpu: expect.anything() } },
          });
      }
    });
  });

  test('accepts the documented production values', () => {
    const page = fs.readFileSync(path.join(root, 'docs', 'install-helm.md'), 'utf8');
    const shown = /## Production\n\n```yaml\n([^]*?)```/.exec(page)?.[1] ?? '';
    const { code, out, error } = template([], readYaml(shown));
    expect({ code, error }).toEqual({ code: 0, error: '' });
    expect(validate(out)).toEqual([]);
  });

  test('explains in its notes how to use the release and which configuration is missing', () => {
    const renderNotes = (...args: readonly string[]): string =>
      helm('install', 'api', chart, '--namespace', 'platform', '--dry-run=client', ...args).out.replace(
        /^[^]*NOTES:/,
        '',
      );
    const forTrial = renderNotes('--set', trial, '--set', 'authentication.bootstrapTokens.enabled=true');
    expect(forTrial).toContain('api-cluster-apiserver serves https://api-cluster-apiserver.platform.svc');
    expect(forTrial).toContain("get secret api-cluster-apiserver-tls -o jsonpath='{.data.ca\\.crt}'");
    expect(forTrial).toContain('FOR TRIALS ONLY');
    expect(forTrial).not.toContain('NO AUTHENTICATION CONFIGURED');
    expect(renderNotes('--set', 'etcd.endpoints={http://etcd:2379}')).toContain('NO AUTHENTICATION CONFIGURED');
  });

  test('sets each of its flags in some value set', () => {
    const set = new Set(valueSets.flatMap((name) => argsOf(render([name]))).map((arg) => /^--([^=]+)/.exec(arg)?.[1]));
    expect(ownFlags.filter((name) => !set.has(name))).toEqual([]);
  });

  test('gives pods enough time for a graceful shutdown', () => {
    const manifests = render(['trial-values.yaml'], { shutdown: { delaySeconds: 7 }, requestTimeoutSeconds: 20 });
    const pod = podTemplateOf(find(manifests, 'Deployment', 'api-cluster-apiserver'));
    const flags = parseFlags(argsOf(manifests));
    expect(flags['shutdown-delay-duration']).toBe(7_000);
    expect(flags['request-timeout']).toBe(20_000);
    expect(pod?.spec.terminationGracePeriodSeconds).toBe(7 + drainMs / 1_000 + 20 + closeSeconds);
  });

  test('limits the heap to three quarters of the memory limit, if there is one', () => {
    const options = (memory: string | null): unknown =>
      containerOf(
        find(
          render(['trial-values.yaml'], { resources: { limits: { memory } } }),
          'Deployment',
          'api-cluster-apiserver',
        ),
        'apiserver',
      ).env;
    expect(options('2Gi')).toEqual([{ name: 'NODE_OPTIONS', value: '--max-old-space-size=1536' }]);
    expect(options('600Mi')).toEqual([{ name: 'NODE_OPTIONS', value: '--max-old-space-size=450' }]);
    expect(options(null)).toBeUndefined();
  });

  test('rolls the replicas only for configuration that the server reads at startup', () => {
    const checksum = (changes: Parameters<typeof render>[1]): unknown =>
      podTemplateOf(find(render(['production-values.yaml'], changes), 'Deployment', 'api-cluster-apiserver'))?.metadata
        .annotations?.['checksum/config'];
    const before = checksum({});
    expect(before).toMatch(/^[0-9a-f]{64}$/);
    expect(checksum({ authentication: { configuration: { anonymous: { conditions: null } } } })).toBe(before);
    expect(checksum({ admission: { configuration: { plugins: [] } } })).not.toBe(before);
  });

  test('includes the rules and dashboards of deploy/monitoring, and rejects unknown ones', () => {
    const files = [...monitoringFiles(monitoringSource).keys()];
    for (const [folder, value, kind] of [
      ['prometheus', 'prometheusRule', 'PrometheusRule'],
      ['grafana', 'dashboards', 'ConfigMap'],
    ] as const) {
      const names = files
        .filter((file) => path.dirname(file) === folder)
        .map((file) => `api-cluster-apiserver-${path.parse(file).name}`);
      const { code, out, error } = template([], { ...stored, metrics: { [value]: { enabled: true } } });
      if (names.length === 0) expect(error).toContain(`metrics.${value}.enabled: this chart was packaged without`);
      else {
        expect({ code, error }).toEqual({ code: 0, error: '' });
        expect(validate(out)).toEqual([]);
        const rendered = manifestsIn(out).filter((one) => one.kind === kind);
        expect(rendered.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(names));
      }
    }
  });

  test.each([
    ['no etcd', {}, 'etcd.endpoints: required'],
    [
      'both external and bundled etcd',
      { etcd: { endpoints: ['https://e:2379'], bundled: { enabled: true } } },
      'exclude each other',
    ],
    [
      'a flag that another value sets',
      { flags: { 'secure-port': 1 } },
      "additional properties 'secure-port' not allowed",
    ],
    ['an unknown flag', { flags: { 'secure-prot': 1 } }, "additional properties 'secure-prot' not allowed"],
    ['a flag value of the wrong type', { flags: { v: 'much' } }, '/flags/v'],
    ['encryption keys outside a Secret', { encryption: { keys: ['x'] } }, "additional properties 'keys' not allowed"],
    ['two members of etcd', { etcd: { bundled: { enabled: true, replicas: 2 } } }, '/etcd/bundled/replicas'],
    ['an Ingress without a host', { ...stored, ingress: { enabled: true } }, 'ingress.hosts: required'],
    [
      'client certificates with an ingress controller that cannot pass TLS through',
      {
        ...stored,
        authentication: { clientCA: { existingConfigMap: 'ca' } },
        ingress: { enabled: true, controller: 'traefik', hosts: ['a'] },
      },
      'passes no TLS through',
    ],
    [
      'metrics without a token',
      { ...stored, metrics: { serviceMonitor: { enabled: true } } },
      'serviceMonitor.tokenSecret',
    ],
    [
      'an anonymous configuration that blocks probes',
      {
        ...stored,
        authentication: { configuration: { anonymous: { enabled: true, conditions: [{ path: '/livez' }] } } },
      },
      'authentication.configuration.anonymous: must be enabled for /livez and /readyz',
    ],
    ['a flag that blocks probes', { ...stored, flags: { 'anonymous-auth': false } }, 'flags.anonymous-auth'],
    [
      'always-allowed paths that block probes',
      { ...stored, flags: { 'authorization-always-allow-paths': ['/livez'] } },
      'flags.authorization-always-allow-paths',
    ],
  ])('rejects %s', (_, changes, message) => {
    const { code, error } = template([], changes);
    expect(code).not.toBe(0);
    expect(error).toContain(message);
  });
});

const nameIn = (manifests: readonly Manifest[]): string =>
  manifests.find(({ kind }) => kind === 'Deployment')?.metadata.name ?? '';

const argsOf = (manifests: readonly Manifest[]): readonly string[] =>
  containerOf(find(manifests, 'Deployment', nameIn(manifests)), 'apiserver').args ?? [];
