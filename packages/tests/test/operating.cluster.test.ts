/** The commands of the pages for operators: servers that are started with the documented flags, and etcdctl. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { canBumpRevision, etcdctl, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { putRaw, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { until } from '@cluster-apiserver/testkit/until';
import { testAuthority } from '../../certificates/test/test-authority.ts';
import { describeIf } from './describe-if.ts';
import { blocksOf, readDocument } from './document-steps.ts';
import { documentedToken, installProgram } from './documented-program.ts';
import { etcdctlSections, partsOf, type Section, serverSections } from './documented-sections.ts';
import { hasKubectl } from './kubectl/kubectl.ts';
import { runDocument, type Shell } from './run-document.ts';

const slowTestMs = 60_000;
const answerMs = 20_000;
const root = path.resolve(import.meta.dirname, '..', '..', '..');
const isThere = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

let etcd: RealEtcd;
let other: RealEtcd;
let directory: string;
let env: Awaited<ReturnType<typeof installProgram>>;

beforeAll(async () => {
  [etcd, other] = await Promise.all([startEtcd(), startEtcd()]);
}, slowTestMs);
afterAll(() => Promise.all([etcd.stop(), other.stop()]), slowTestMs);
beforeEach(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'operating-'));
  const links = etcdctl === undefined ? {} : { etcdctl, etcdutl: etcdctl };
  env = await installProgram(directory, etcd.endpoints[0] ?? '', links);
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));

const write = (name: string, text: string): void => fs.writeFileSync(path.join(directory, name), text);
const read = (name: string): string => fs.readFileSync(path.join(directory, name), 'utf8');
const yamlOf = (page: string): string =>
  blocksOf(readDocument(page)).find(({ language }) => language === 'yaml')?.text ?? '';

const run = (section: Section, shell: Partial<Shell> = {}): Promise<unknown> =>
  runDocument(...partsOf(section), { directory, env: { ...process.env, ...env }, answerMs, ...shell });

/** Without what stands for other flags, and with files of the directory. */
const withFiles = (command: string): string =>
  command
    .replaceAll(/ …|,…/g, '')
    .replaceAll(/\/(?:etc|var\/log|var\/lib)\/(?:(?:cluster-)?apiserver\/)?/g, `${directory}/`);

const requestServer = (method: string, target: string, body?: object) =>
  requestHttps(`${env.SERVER}${target}`, { method, rejectUnauthorized: false, token: documentedToken, body });

const servers: Readonly<Record<(typeof serverSections)[number], () => Promise<unknown>>> = {
  'conformance/README.md: ## Replay': () =>
    run('conformance/README.md: ## Replay', {
      before: [`cluster-apiserver ${/--controllers=[^`]+/.exec(readDocument('conformance/README.md'))?.[0]}`],
      // A few cases: the conformance kit runs all.
      adaptCommand: (command) =>
        command
          .replace('run.mjs --server https://HOST:PORT --token TOKEN --ca FILE', 'run.mjs …')
          .replace('run.mjs … --only chunk', 'run.mjs …')
          .replace(
            'conformance/run.mjs …',
            `${root}/conformance/run.mjs --server $SERVER --token $TOKEN --ca apiserver.crt --only 'chunking: limit'`,
          ),
      afterwards: ([, , , list]) => {
        expect(JSON.parse(read('out.json'))).toMatchObject({ results: expect.any(Array) });
        expect(list?.shown.length).toBeGreaterThan(1);
      },
    }),

  'docs/audit.md: # Audit': async () => {
    write('audit-policy.yaml', yamlOf('docs/audit.md'));
    await run('docs/audit.md: # Audit', {
      adaptCommand: withFiles,
      afterwards: async () => {
        await requestServer('GET', '/api/v1/namespaces/default');
        await until(
          'an event',
          () => read('audit.log').includes('"requestURI":"/api/v1/namespaces/default"') || undefined,
        );
      },
    });
  },

  'docs/authentication.md: ## Client certificates': async () => {
    const authority = await testAuthority('clients');
    const ann = await authority.issue({ subject: [['CN', 'ann']] });
    write('clients.crt', authority.certificate);
    write('ann.crt', ann.certificate);
    write('ann.key', ann.privateKey);
    await run('docs/authentication.md: ## Client certificates', { adaptCommand: withFiles });
  },

  'docs/encryption.md: ## Enable it': async () => {
    write('encryption.yaml', yamlOf('docs/encryption.md'));
    await run('docs/encryption.md: ## Enable it', {
      adaptCommand: withFiles,
      afterwards: async ([key]) => {
        expect(Buffer.from(key?.shown[0] ?? '', 'base64')).toHaveLength(32);
        const robot = { metadata: { name: 'robot' } };
        const { status } = await requestServer('POST', '/api/v1/namespaces/default/serviceaccounts', robot);
        expect(status).toBe(201);
        const stored = `/${path.basename(directory)}/serviceaccounts/default/robot`;
        expect(String(await rawValue(etcd.endpoints[0] ?? '', stored))).toMatch(/^k8s:enc:aesgcm:v1:key-2026-11:/);
      },
    });
  },

  'docs/encryption.md: ## Unreadable objects': async () => {
    const stored = `/${path.basename(directory)}/secrets/default/lost`;
    await putRaw(etcd.endpoints[0] ?? '', stored, Buffer.from('k8s:enc:aesgcm:v1:lost-key:'));
    write('encryption.yaml', yamlOf('docs/encryption.md'));
    const gate = /--feature-gates=\S+=true/.exec(readDocument('docs/encryption.md'))?.[0] ?? '';
    await run('docs/encryption.md: ## Unreadable objects', {
      before: [`cluster-apiserver ${gate} --encryption-provider-config=encryption.yaml`],
      adaptCommand: (command) =>
        command
          .replace('NAMESPACE', 'default')
          .replace('NAME', 'lost')
          .replace('kubectl', 'kubectl --server=$SERVER --token=$TOKEN --certificate-authority=apiserver.crt'),
      afterwards: async () => expect(await rawValue(etcd.endpoints[0] ?? '', stored)).toBeUndefined(),
    });
  },

  'docs/logs.md: ## Requests': () =>
    run('docs/logs.md: ## Requests', {
      before: [
        'cluster-apiserver --logging-format=json --v=2',
        'curl --silent --insecure "$SERVER/api"',
        `until grep -q '"URI":"/api"' server.log; do sleep 0.05; done`,
      ],
      afterwards: ([slowest]) => expect(slowest?.shown.join('\n')).toMatch(/^\d+\.\d+ms\tget\t\/api\b/m),
    }),

  'docs/logs.md: ## Status pages': () =>
    run('docs/logs.md: ## Status pages', {
      before: ['cluster-apiserver --v=1'],
      adaptCommand: (command) =>
        command
          .replace('https://localhost:6443', env.SERVER)
          .replace('ca.crt', 'apiserver.crt')
          .replace('kubectl', 'kubectl --token=$TOKEN'),
    }),

  'docs/scaling.md: ## How much memory': () =>
    run('docs/scaling.md: ## How much memory', {
      adaptCommand: withFiles,
      afterwards: () => expect(read('server.log')).toMatch(/"V8 heap limit" limitMiB=6\d{3}\b/),
    }),
};

describeIf(hasKubectl && isThere('jq') && isThere('openssl'), 'servers', 'kubectl, jq or openssl is missing', () => {
  test.each(serverSections)('%s', (section) => servers[section](), slowTestMs);
});

/** What each section finds, and what it must leave behind. */
const withEtcdctl: Readonly<Record<(typeof etcdctlSections)[number], () => Promise<unknown>>> = {
  'docs/backup.md: # Back up and restore': () =>
    run('docs/backup.md: # Back up and restore', {
      adaptCommand: (command) => command.replace('https://10.0.0.1:2379', etcd.endpoints[0] ?? ''),
    }),

  'docs/backup.md: ## Restore': () =>
    run('docs/backup.md: ## Restore', {
      before: [`etcdctl --endpoints=${etcd.endpoints.join()} snapshot save backup.db`],
      adaptCommand: withFiles,
      afterwards: () => expect(fs.readdirSync(path.join(directory, 'etcd', 'member'))).toContain('snap'),
    }),

  'docs/backup.md: ## Several etcds': () => {
    const key = '/registry/.own/ended/a';
    other.control('put', key, '1');
    env = { ...env, ETCDCTL_ENDPOINTS: other.endpoints.join() };
    return run('docs/backup.md: ## Several etcds', {
      afterwards: () => expect(other.control('get', key)).toBe(''),
    });
  },

  'docs/scaling.md: ### Move a kind': () => {
    const key = '/registry/example.com/widgets/a/one';
    etcd.control('put', key, 'value');
    env = { ...env, OLD: etcd.endpoints.join(), NEW: other.endpoints.join() };
    return run('docs/scaling.md: ### Move a kind', {
      // The mirror goes on.
      adaptCommand: (command) =>
        command.includes('make-mirror') ? `${command} &` : command.replace('…', path.join(directory, 'restored')),
      afterwards: async () => {
        expect(fs.readdirSync(path.join(directory, 'restored', 'member'))).toContain('snap');
        await until('the mirror', () => other.control('get', key).includes('value') || undefined);
      },
    });
  },
};

describeIf(canBumpRevision, 'etcdctl', 'etcdctl is too old', () => {
  test.each(etcdctlSections)('%s', (section) => withEtcdctl[section](), slowTestMs);
});
