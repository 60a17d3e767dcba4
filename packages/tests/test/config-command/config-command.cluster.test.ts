/** Runs the built `cluster-apiserver config` command beside a server. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority } from '@cluster-apiserver/certificates';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { examples } from '../reference/configuration-page.ts';

const program = path.resolve(import.meta.dirname, '..', '..', '..', 'server', 'dist', 'main.js');
const startMs = 60_000;

interface CommandResult {
  readonly code: number;
  readonly output: string;
  readonly errors: string;
}
const run = (...args: string[]): Promise<CommandResult> =>
  new Promise((resolve) =>
    execFile(process.execPath, [program, 'config', ...args], (error, output, errors) =>
      resolve({ code: error ? Number(error.code) : 0, output, errors }),
    ),
  );

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'config-command-'));
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));
const write = (name: string, content: string): string => {
  const file = path.join(directory, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  return file;
};

describe('config check', () => {
  let files: readonly string[];
  beforeAll(async () => {
    for (const entry of fs.readdirSync(examples, { withFileTypes: true, recursive: true })) {
      if (!entry.isFile()) continue;
      const file = path.join(entry.parentPath, entry.name);
      const text = fs.readFileSync(file, 'utf8').replaceAll('/etc/cluster-apiserver', path.join(directory, 'examples'));
      write(path.join('examples', path.relative(examples, file)), text);
    }
    files = fs
      .readdirSync(path.join(directory, 'examples'), { withFileTypes: true })
      .flatMap((entry) => (entry.isFile() ? [path.join(directory, 'examples', entry.name)] : []));
    const authority = await createAuthority('example', clock, systemRandom());
    for (const name of ['webhook', 'proxy']) {
      const { certificate, privateKey } = await authority.issueForServer({ commonName: name, hosts: ['localhost'] });
      write(`examples/${name}-ca.crt`, authority.certificate);
      write(`examples/${name}.crt`, certificate);
      write(`examples/${name}.key`, privateKey);
    }
  });

  test('accepts the examples of docs/configuration.md', async () => {
    const { code, output, errors } = await run('check', ...files);
    expect(output.trimEnd().split('\n')).toEqual(files.map((file) => expect.stringMatching(`^${file}: .+ is valid$`)));
    expect([code, errors]).toEqual([0, '']);
  });

  test('warns about certificates before they expire', async () => {
    const { code, output } = await run('check', '--warn-before=9000h', ...files);
    expect(output).toMatch(
      /egress-selector\.yaml:12:25 egressSelections\[0\]\S+\.clientCert: warning: certificate "CN=proxy" expires at /,
    );
    expect(output).toMatch(/webhook\.kubeconfig:11:27 users\[0\]\.user\.client-certificate: warning: /);
    expect(code).toBe(0);
  });

  test('reports errors and fails with an exit code', async () => {
    const [file = ''] = files.filter((one) => one.endsWith('encryption.yaml'));
    const broken = write('broken.yaml', fs.readFileSync(file, 'utf8').replace('secretbox:', 'secretbx:'));
    const { code, output } = await run('check', file, broken);
    expect(output).toBe(
      `${broken}:14:9 resources[1].providers[0]: unknown field "secretbx"\n` +
        `${broken}:14:9 resources[1].providers[0]: set exactly one of aesgcm, aescbc, secretbox, identity, kms\n`,
    );
    expect(code).toBe(1);
    expect(await run('check')).toEqual({ code: 2, output: '', errors: 'name at least one file to check\n' });
  });
});

describe('config show', () => {
  let etcd: RealEtcd;
  let server: ChildProcess;
  let log = '';
  let url = '';
  const ca = (): string => path.join(directory, 'certificates', 'apiserver.crt');
  const secret = Buffer.alloc(32, 7).toString('base64');
  const authentication = 'apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n';
  let files: Readonly<Record<'authentication' | 'encryption' | 'tokens', string>>;
  const request = (token: string, ...args: string[]): Promise<CommandResult> =>
    run('show', `--server=${url}`, `--token=${token}`, `--certificate-authority=${ca()}`, ...args);

  beforeAll(async () => {
    files = {
      authentication: write('authentication.yaml', authentication),
      encryption: write(
        'encryption.yaml',
        `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [serviceaccounts]
    providers: [{secretbox: {keys: [{name: a, secret: ${secret}}]}}, {identity: {}}]
`,
      ),
      tokens: write('tokens.csv', 'hush-hush,admin,1,system:masters\nshh-shh,somebody,2\n'),
    };
    etcd = await startEtcd();
    server = spawn(
      process.execPath,
      [
        program,
        '--secure-port=0',
        '--bind-address=127.0.0.1',
        `--cert-dir=${path.join(directory, 'certificates')}`,
        `--etcd-servers=${etcd.endpoints.join(',')}`,
        `--token-auth-file=${files.tokens}`,
        `--authentication-config=${files.authentication}`,
        `--encryption-provider-config=${files.encryption}`,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    server.stderr?.on('data', (text) => (log += String(text)));
    url = await until(
      'the server',
      () => {
        const port = /\bserving\b.*\bport["=:\s]+(\d+)/.exec(log)?.[1];
        return port === undefined ? undefined : `https://127.0.0.1:${port}`;
      },
      startMs,
    );
  }, startMs);
  afterAll(async () => {
    await endProcess(server, 'SIGKILL');
    await etcd.stop();
  });

  interface ShownConfiguration {
    readonly flags: Readonly<Record<string, string>>;
    readonly files: readonly {
      readonly flag: string;
      readonly kind: string;
      readonly path: string;
      readonly hash?: string;
      readonly lastReloadTime: string;
      readonly lastReloadError?: { readonly time: string; readonly message: string };
    }[];
  }
  const showConfiguration = async (): Promise<ShownConfiguration> =>
    JSON.parse((await request('hush-hush', '--output=json')).output) as ShownConfiguration;
  const fileOf = async (flag: string): Promise<ShownConfiguration['files'][number] | undefined> =>
    (await showConfiguration()).files.find((file) => file.flag === flag);
  const hashOf = (content: string): string => `sha256:${createHash('sha256').update(content).digest('hex')}`;

  test('prints flags and files without secrets', async () => {
    const { flags, files: used } = await showConfiguration();
    expect(flags).toMatchObject({
      'event-ttl': '1h0m0s',
      'max-requests-inflight': '400',
      'encryption-provider-config': files.encryption,
    });
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as never;
    expect(used).toEqual(
      expect.arrayContaining([
        {
          flag: 'authentication-config',
          kind: 'AuthenticationConfiguration',
          path: files.authentication,
          hash: hashOf(authentication),
          lastReloadTime: time,
        },
        // The hash would make it possible to guess the tokens.
        {
          flag: 'token-auth-file',
          kind: 'static tokens',
          path: files.tokens,
          lastReloadTime: time,
          restartRequired: true,
        },
        {
          flag: 'encryption-provider-config',
          kind: 'EncryptionConfiguration',
          path: files.encryption,
          hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as never,
          lastReloadTime: time,
        },
      ]),
    );
    const { output } = await request('hush-hush');
    expect(output).toContain('--event-ttl=1h0m0s\n');
    expect(output).toContain(`${files.authentication}\n    hash ${hashOf(authentication)}\n`);
    const all = output + JSON.stringify(await showConfiguration());
    for (const hidden of ['hush', 'shh', secret, 'PRIVATE']) expect(all).not.toContain(hidden);
  });

  test('requires a separate permission', async () => {
    expect(await request('shh-shh')).toEqual({
      code: 1,
      output: '',
      errors: expect.stringContaining('answered 403: forbidden: User "somebody" cannot get path "/configz"') as never,
    });
    expect(await request('unknown')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('answered 401') as never,
    });
  });

  test('accepts a kubeconfig', async () => {
    const kubeconfig = write(
      'kubeconfig',
      `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: '${url}', certificate-authority: certificates/apiserver.crt}}]
users: [{name: u, user: {token: hush-hush}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`,
    );
    expect(await run('show', `--kubeconfig=${kubeconfig}`)).toMatchObject({ code: 0, errors: '' });
  });

  test('shows a failed reload and its error until one succeeds', async () => {
    const before = await fileOf('authentication-config');
    fs.writeFileSync(files.authentication, `${authentication}jwt: [{issuer: {url: 7}}]\n`);
    const failed = await until('the failed reload', async () => {
      const file = await fileOf('authentication-config');
      return file?.lastReloadError ? file : undefined;
    });
    expect(failed).toMatchObject({
      hash: before?.hash,
      lastReloadError: { message: expect.stringContaining('jwt[0].issuer.url: expected a string') },
    });
    expect((await request('hush-hush')).output).toContain('NOT RELOADED at ');
    const mended = `${authentication}jwt: []\n`;
    fs.writeFileSync(files.authentication, mended);
    await until(
      'the reload',
      async () => (await fileOf('authentication-config'))?.hash === hashOf(mended) || undefined,
    );
    expect(await fileOf('authentication-config')).not.toHaveProperty('lastReloadError');
    fs.writeFileSync(files.authentication, authentication);
    await until(
      'the first content',
      async () => (await fileOf('authentication-config'))?.hash === before?.hash || undefined,
    );
  });
});
