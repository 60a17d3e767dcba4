import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CleanupStack, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { type HttpsOptions, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { until } from '@cluster-apiserver/testkit/until';
import { composeSections, partsOf, recipeSections } from '../documented-sections.ts';
import { runDocument } from '../run-document.ts';
import { readComposeFile, root } from './compose-file.ts';
import { describeIf } from '../describe-if.ts';

// docker-compose.yml with the built images on a real engine. `npm run compose` builds them and passes the compose
// command.

const compose = process.env.COMPOSE === undefined ? undefined : (JSON.parse(process.env.COMPOSE) as string[]);

/** Services of profiles whose images there are. */
const services = (process.env.COMPOSE_SERVICES ?? '').split(',');
const hasImages = (...names: readonly string[]): boolean => names.every((name) => services.includes(name));

const image = readComposeFile().services['apiserver-1']?.image ?? '';
/** Of a build of other sources. */
const earlierImage = process.env.EARLIER_IMAGE;
const startMs = 240_000;
const answerMs = 120_000;
const slowTestMs = 400_000;
const replicas = ['apiserver-1', 'apiserver-2', 'apiserver-3'];

describeIf(compose !== undefined, 'docker-compose.yml', 'npm run compose tests it', () => {
  const cleanup = new CleanupStack();
  // A copy of the mounted files, so that the user's own cluster keeps its credentials.
  let directory = '';
  let project = '';
  let port = 0;
  const env = (): NodeJS.ProcessEnv => ({ ...process.env, PORT: `${port}`, COMPOSE_PROJECT_NAME: project });

  const run = (program: string, args: readonly string[], variables: NodeJS.ProcessEnv = {}): string => {
    const options = { cwd: directory, env: { ...env(), ...variables }, encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(program, args, options);
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  const runCompose = (...args: string[]): string => {
    const [program = '', ...first] = compose ?? [];
    return run(program, [...first, ...args]);
  };
  const containersOf = (service = ''): Container[] => {
    const filters = [`project=${project}`, ...(service ? [`service=${service}`] : [])];
    const ids = run('docker', [
      'ps',
      '--all',
      '--quiet',
      ...filters.flatMap((one) => ['--filter', `label=com.docker.compose.${one}`]),
    ]);
    return ids === '' ? [] : (JSON.parse(run('docker', ['inspect', ...ids.trim().split('\n')])) as Container[]);
  };
  /** Starts what does not run, and again the replicas that run with another configuration. */
  const startCluster = (variables: NodeJS.ProcessEnv = {}): void => {
    const [program = '', ...first] = compose ?? [];
    run(program, [...first, 'up', '--detach', '--no-build'], variables);
  };
  const runKubectl = (...args: string[]): string =>
    run('kubectl', ['--kubeconfig', path.join(directory, 'deploy', 'compose', 'credentials', 'kubeconfig'), ...args]);
  const isHealthy = (service: string): boolean => containersOf(service)[0]?.State.Health?.Status === 'healthy';

  beforeAll(async () => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'compose-test-'));
    project = path.basename(directory).toLowerCase();
    fs.cpSync(path.join(root, 'docker-compose.yml'), path.join(directory, 'docker-compose.yml'));
    fs.cpSync(path.join(root, 'deploy'), path.join(directory, 'deploy'), {
      recursive: true,
      filter: (file) => !/credentials\/[^.]/.test(file),
    });
    [port = 0] = await freePorts(1);
    cleanup.defer('directory', () => fs.rmSync(directory, { recursive: true, force: true }));
    cleanup.defer('cluster', () => void runCompose('down', '--volumes', '--timeout', '5'));
    try {
      startCluster();
    } catch (error) {
      throw new Error(runCompose('logs', '--tail', '20'), { cause: error });
    }
  }, startMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), startMs);

  test.each(composeSections)(
    '%s: the commands produce the documented output',
    async (section) => {
      await runDocument(...partsOf(section), {
        directory,
        env: env(),
        adaptCommand: (command) =>
          command
            // They are built.
            .replace('docker compose build', ':')
            .replace('up --detach', 'up --detach --no-build')
            .replaceAll('docker compose', (compose ?? []).join(' ')),
        answerMs,
      });
    },
    slowTestMs,
  );

  test('every service has a memory limit, a read-only root file system and no root user; only loopback is published', () => {
    for (const { Name, Config, HostConfig } of containersOf().filter(({ Name }) => !/setup/.test(Name))) {
      expect({ Name, user: Config.User, readOnly: HostConfig.ReadonlyRootfs }).toEqual({
        Name,
        user: '65532:65532',
        readOnly: true,
      });
      expect(HostConfig.Memory).toBeGreaterThan(0);
      for (const bindings of Object.values(HostConfig.PortBindings))
        expect(bindings.map(({ HostIp }) => HostIp)).toEqual(['127.0.0.1']);
    }
  });

  test('replicas write audit events to standard output, and to standard error a log without a warning of the start', () => {
    runKubectl('create', 'serviceaccount', 'audited-by-test', '--namespace', 'default', '--dry-run=server');
    const streams = replicas.flatMap(containersOf).map(({ Id }) => {
      const { stdout, stderr } = spawnSync('docker', ['logs', Id], { env: env(), encoding: 'utf8' });
      const [events = [], log = []] = [stdout, stderr].map((text) =>
        text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as LogLine))),
      );
      return { events, log };
    });
    expect(new Set(streams.flatMap(({ events }) => events.map(({ kind }) => kind)))).toEqual(new Set(['Event']));
    for (const { log } of streams) {
      // Until it serves: other tests stop members of etcd later.
      const start = log.slice(0, log.findIndex(({ msg }) => msg === 'serving') + 1);
      expect(start.length).toBeGreaterThan(1);
      expect(start.filter(({ level }) => level !== 'info')).toEqual([]);
    }
  });

  test('the image has no shell', () => {
    const { stderr } = spawnSync('docker', ['run', '--rm', '--network=none', '--entrypoint=/bin/sh', image], {
      env: env(),
      encoding: 'utf8',
    });
    expect(stderr).toContain('no such file or directory');
  });

  test('a running container has the command', () => {
    const [{ Id } = { Id: '' }] = containersOf(replicas[0]);
    expect(run('docker', ['exec', Id, 'cluster-apiserver', 'version'])).toMatch(/^cluster-apiserver \d+\.\d+\.\d+/);
  });

  test('the image has a software bill of materials', () => {
    const id = run('docker', ['create', '--network=none', image]).trim();
    try {
      run('docker', ['cp', `${id}:/app/sbom.cdx.json`, 'sbom.json']);
    } finally {
      run('docker', ['rm', id]);
    }
    const { bomFormat, components } = JSON.parse(fs.readFileSync(path.join(directory, 'sbom.json'), 'utf8')) as Sbom;
    expect(bomFormat).toBe('CycloneDX');
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['jose', '@grpc/grpc-js', 'js-yaml']));
    expect(components.map(({ name }) => name)).not.toContain('jest');
  });

  test(
    'replacing the replicas one after another fails no request',
    async () => {
      await until('all replicas', () => replicas.every(isHealthy) || undefined, answerMs);
      const credentials = path.join(directory, 'deploy', 'compose', 'credentials');
      const read = (name: string): Buffer => fs.readFileSync(path.join(credentials, name));
      const options = { ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
      const statuses: (number | string)[] = [];
      let stopping = false;
      const load = (async () => {
        while (!stopping) {
          statuses.push(await statusOf(`https://127.0.0.1:${port}/api/v1/namespaces/team-a/serviceaccounts`, options));
          await sleep(clock, 50);
        }
      })();
      try {
        for (const replica of replicas) {
          const [before] = containersOf(replica);
          // Not with spawnSync: requests continue meanwhile.
          await replaceService(compose ?? [], replica, directory, env());
          await until(
            `${replica} to be replaced`,
            () => (containersOf(replica)[0]?.Id !== before?.Id && isHealthy(replica)) || undefined,
            answerMs,
          );
        }
      } finally {
        stopping = true;
        await load;
      }
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      expect(statuses.length).toBeGreaterThan(100);
    },
    slowTestMs,
  );

  test(
    'data and credentials survive a stop and start',
    async () => {
      const file = path.join(directory, 'deploy', 'compose', 'credentials', 'ca.crt');
      const authority = fs.readFileSync(file, 'utf8');
      runKubectl('create', 'serviceaccount', 'survivor', '--namespace', 'team-b');
      runCompose('down', '--timeout', '20');
      expect(containersOf()).toEqual([]);
      startCluster();
      expect(fs.readFileSync(file, 'utf8')).toBe(authority);
      const found = runKubectl('get', 'serviceaccount', 'survivor', '--namespace', 'team-b', '--output', 'name');
      expect(found).toBe('serviceaccount/survivor\n');
    },
    slowTestMs,
  );

  /** The Lease of a killed replica lasts for half a minute. */
  const countReplicas = (): number => runKubectl('get', '--raw', '/statusz').match(/^Replica/gm)?.length ?? 0;

  test(
    'the recipes work as they are written, one after the other',
    async () => {
      for (const section of recipeSections) {
        // An upgrade begins with the image of an earlier revision, and ends with it.
        const isUpgrade = section.endsWith('## Upgrade and go back');
        const images = isUpgrade && earlierImage !== undefined ? { APISERVER_IMAGE: earlierImage } : {};
        startCluster(images);
        await until('no other replica', () => countReplicas() === replicas.length || undefined, answerMs);
        await runDocument(...partsOf(section), {
          directory,
          env: {
            ...env(),
            ...images,
            KUBECONFIG: path.join(directory, 'deploy', 'compose', 'credentials', 'kubeconfig'),
          },
          adaptCommand: (command) => command.replaceAll('docker compose', (compose ?? []).join(' ')),
          answerMs,
        });
      }
      // Some change the configuration, which other tests expect as it was.
      const configuration = path.join('deploy', 'compose', 'config');
      fs.cpSync(path.join(root, configuration), path.join(directory, configuration), { recursive: true });
      runCompose('run', '--rm', 'setup');
      runCompose('restart', ...replicas);
      await until('all replicas', () => replicas.every(isHealthy) || undefined, answerMs);
    },
    slowTestMs * 2,
  );

  /** Returns its output, with errors. The replicas get the configuration that the environment names. */
  const runConfigured = (configuration: NodeJS.ProcessEnv, ...args: string[]): string => {
    const [program = '', ...first] = compose ?? [];
    const { status, stdout, stderr } = spawnSync(program, [...first, ...args], {
      cwd: directory,
      env: { ...env(), ...configuration },
      encoding: 'utf8',
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    return stdout + stderr;
  };
  /** Starts the services of a profile, all by default. */
  const startProfile = (profile: string, configuration: NodeJS.ProcessEnv, ...names: string[]): void => {
    runConfigured(configuration, '--profile', profile, 'up', '--detach', '--no-build', ...names);
    cleanup.defer(profile, () => void runCompose('--profile', profile, 'down', '--volumes', '--timeout', '5'));
  };
  /** The cluster as it is without profiles, for the other tests. */
  const stopServices = (...names: string[]): void => {
    startCluster();
    runCompose('rm', '--stop', '--force', ...names);
  };

  describeIf(hasImages('prometheus'), 'with Prometheus', 'there is no image of Prometheus', () => {
    beforeAll(() => startProfile('observability', {}, 'prometheus'), startMs);
    afterAll(() => stopServices('prometheus'), startMs);

    const untilScraped = (count: number): Promise<Targets['data']['activeTargets']> =>
      until(
        `${count} scraped targets`,
        async () => {
          const found = (await getJson('http://127.0.0.1:9090/api/v1/targets')) as Targets | undefined;
          const scraped = found?.data.activeTargets ?? [];
          return scraped.length === count && scraped.every(({ health }) => health !== 'unknown') ? scraped : undefined;
        },
        answerMs,
      );

    test(
      'it loads the rules and scrapes every target, also a replica that was added',
      async () => {
        // Three replicas twice, three members of etcd, the load balancer.
        expect((await untilScraped(10)).filter(({ health }) => health !== 'up')).toEqual([]);
        const { data } = (await getJson('http://127.0.0.1:9090/api/v1/rules')) as Rules;
        expect(data.groups.length).toBeGreaterThan(3);
        runCompose('up', '--detach', '--no-build', '--no-deps', 'apiserver-4');
        await until('the fourth replica', () => isHealthy('apiserver-4') || undefined, answerMs);
        await untilScraped(12);
        runCompose('rm', '--stop', '--force', 'apiserver-4');
        await untilScraped(10);
      },
      slowTestMs,
    );
  });

  describeIf(
    hasImages('otel-collector', 'jaeger'),
    'with a collector and Jaeger',
    'there are no images of the collector and Jaeger',
    () => {
      const observers = ['otel-collector', 'jaeger'];
      beforeAll(
        () => startProfile('observability', { TRACING_CONFIG: 'tracing-collector.yaml' }, ...observers, ...replicas),
        startMs,
      );
      afterAll(() => stopServices(...observers), startMs);

      test(
        'requests appear in Jaeger as traces with the spans of what they waited for',
        async () => {
          const trace = await until(
            'a trace',
            () => {
              runKubectl('get', 'namespaces', '--v=0');
              return findTrace();
            },
            answerMs,
          );
          expect(trace.spans.length).toBeGreaterThan(0);
        },
        slowTestMs,
      );
    },
  );

  describeIf(hasImages('dex'), 'with the profile oidc', 'there is no image of Dex', () => {
    test(
      'the documented commands log in with a token of Dex',
      async () => {
        startProfile('oidc', { AUTHENTICATION_CONFIG: 'authentication-oidc.yaml' });
        const [, commands = ''] = /```sh\n(TOKEN=[^]*?)```/.exec(fs.readFileSync(installPage, 'utf8')) ?? [];
        const said = await until(
          'the identity',
          () => {
            const { status, stdout } = spawnSync('bash', ['-ec', commands], {
              cwd: directory,
              env: env(),
              encoding: 'utf8',
            });
            return status === 0 ? stdout : undefined;
          },
          answerMs,
        );
        stopServices('dex');
        expect(said).toMatch(/Username +ada@example\.com/);
      },
      slowTestMs,
    );
  });

  describe('with the profile kms', () => {
    test(
      'and its configuration, the plugin encrypts new objects',
      async () => {
        const configuration = { ENCRYPTION_CONFIG: 'encryption-kms.yaml' };
        startProfile('kms', configuration);
        runKubectl('create', 'serviceaccount', 'robot', '--namespace', 'sealed');
        const key = '/registry/serviceaccounts/sealed/robot';
        const stored = run('docker', [
          'exec',
          containersOf('etcd-2')[0]?.Id ?? '',
          '/usr/local/bin/etcdctl',
          'get',
          key,
        ]);
        expect(stored).toContain('k8s:enc:kms:v2:reference:');
        runKubectl('delete', 'namespace', 'sealed');
        // Back, as the file says. A replica that has not yet reloaded it encrypts its Lease with the plugin once more.
        const file = path.join(directory, 'deploy', 'compose', 'config', configuration.ENCRYPTION_CONFIG);
        const [head = '', ...providers] = fs.readFileSync(file, 'utf8').split(/^(?= {6}- )/m);
        fs.writeFileSync(file, head + providers.toReversed().join(''));
        runConfigured(configuration, 'run', '--rm', 'setup');
        const rewrite = (): string => runConfigured(configuration, 'run', '--rm', 'storage-rewrite');
        await until('nothing to rewrite', () => / 0 rewritten, 0 unreadable/.test(rewrite()) || undefined, answerMs);
        stopServices('kms');
      },
      slowTestMs,
    );
  });
});

interface Container {
  readonly Id: string;
  readonly Name: string;
  readonly Config: { readonly User: string };
  readonly State: { readonly Health?: { readonly Status: string } };
  readonly HostConfig: {
    readonly ReadonlyRootfs: boolean;
    readonly Memory: number;
    readonly PortBindings: Readonly<Record<string, readonly { readonly HostIp: string }[]>>;
  };
}

/** Of an audit event, or of the log. */
interface LogLine {
  readonly kind?: string;
  readonly level?: string;
  readonly msg?: string;
}

interface Sbom {
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string }[];
}

interface Targets {
  readonly data: { readonly activeTargets: readonly { readonly health: string; readonly lastError: string }[] };
}

interface Rules {
  readonly data: { readonly groups: readonly unknown[] };
}

interface Traces {
  readonly data: readonly Trace[] | null;
}

interface Trace {
  readonly spans: readonly { readonly operationName: string }[];
}

const installPage = path.join(root, 'docs', 'install.md');

/** Returns undefined until the service is ready. */
const getJson = async (url: string): Promise<unknown> =>
  fetch(url).then(
    async (response) => (response.ok ? response.json() : undefined),
    () => undefined,
  );

async function findTrace(): Promise<Trace | undefined> {
  const found = (await getJson('http://127.0.0.1:16686/api/traces?service=apiserver&limit=1')) as Traces | undefined;
  return found?.data?.[0];
}

const statusOf = (url: string, options: HttpsOptions): Promise<number | string> =>
  requestHttps(url, options).then(({ status }) => status, String);

async function replaceService(
  compose: readonly string[],
  service: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const [program = '', ...first] = compose;
  const args = [...first, 'up', '--detach', '--no-build', '--no-deps', '--force-recreate', service];
  const child = spawn(program, args, { cwd, env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${service} could not be replaced`);
}
