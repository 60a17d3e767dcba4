import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type ClientResponse, requestOnce } from '@cluster-apiserver/testkit/api-client';
import { until } from '@cluster-apiserver/testkit/until';
import { builtLauncher } from '@cluster-apiserver/testkit/built-launcher';
import { type Home, getHome } from './home.ts';
import type { Pids } from './pids.ts';
import { commandLine } from './processes.ts';

// Whole clusters, started and stopped the way `cluster-apiserver start` does it. A start takes seconds, so the tests of one
// describe share a cluster and leave it as they found it.

/** Two starts and two stops, on a machine that runs other tests too. */
const slowTestMs = 120_000;

/** Enough where replicas are not compared, and sooner started than two. */
const oneReplica = ['--replicas', '1'];

describe('a running cluster', () => {
  let home: Home;
  let cluster: Launched;
  let greeting: string;

  beforeAll(async () => {
    home = newHome();
    cluster = await start(home, ['--replicas', '2']);
    greeting = await until('the greeting', () => /The cluster is ready[^]*\n {2}stop .*/.exec(cluster.output())?.[0]);
  }, slowTestMs);

  afterAll(async () => {
    await stop(cluster);
    remove(home);
  }, slowTestMs);

  test('prints in about ten lines where it is, how to reach it and how to stop it', () => {
    const { front } = pidsOf(home);
    for (const part of [front.url, 'curl --cacert', 'kubectl --kubeconfig', 'logs', `kill ${cluster.child.pid}`]) {
      expect(greeting).toContain(part);
    }
    expect(greeting.trim().split('\n').length).toBeLessThan(14);
  });

  test('answers clients that trust its CA, at its address and at every replica', async () => {
    const { front, replicas } = pidsOf(home);
    expect(replicas).toHaveLength(2);
    for (const { url } of [front, ...replicas]) expect(await statusOf(home, `${url}/readyz`)).toBe(200);
  });

  test('starts its replicas with the Node options of their shebang line', () => {
    for (const { pid } of pidsOf(home).replicas) {
      const [env, command] = ['environ', 'cmdline'].map((file) => fs.readFileSync(`/proc/${pid}/${file}`, 'utf8'));
      expect(env).toContain('MALLOC_MMAP_THRESHOLD_=65536');
      expect(command).toContain('--max-semi-space-size=32');
    }
  });

  test('signs service account tokens that every replica accepts', async () => {
    const { front, replicas } = pidsOf(home);
    const accounts = `${front.url}/api/v1/namespaces/team-a/serviceaccounts`;
    expect(await statusOf(home, accounts, { metadata: { name: 'signed-for' } })).toBe(201);
    const asked = await answerOf(home, `${accounts}/signed-for/token`, {});
    const { token } = (JSON.parse(asked?.body ?? '') as { status: { token: string } }).status;
    const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    for (const { url } of [front, ...replicas])
      expect(await answerOf(home, `${url}${whoami}`, {}, token)).toMatchObject({
        status: 201,
        body: expect.stringContaining('system:serviceaccount:team-a:signed-for'),
      });
    const keys = await answerOf(home, `${front.url}/.well-known/openid-configuration`, undefined, token);
    expect(JSON.parse(keys?.body ?? '')).toMatchObject({ jwks_uri: `${front.url}/openid/v1/jwks` });
  });

  test('has a developer user with rights in the namespace default only', async () => {
    expect(greeting).toContain(`kubectl --kubeconfig ${home.developerKubeconfig}`);
    const token = fs.readFileSync(home.developerToken, 'utf8');
    expect(fs.readFileSync(home.developerKubeconfig, 'utf8')).toContain(token);
    const accounts = (namespace: string): string =>
      `${pidsOf(home).front.url}/api/v1/namespaces/${namespace}/serviceaccounts`;
    const make = async (namespace: string): Promise<number | undefined> =>
      (await answerOf(home, accounts(namespace), { metadata: { name: 'by-developer' } }, token))?.status;
    expect([await make('default'), await make('team-a')]).toEqual([201, 403]);
    expect((await answerOf(home, accounts('team-a'), undefined, token))?.status).toBe(403);
  });

  test('is not started a second time', async () => {
    const second = launch(home);
    expect(await second.exit).toEqual({ code: 1, signal: null });
    expect(second.output()).toContain(`running here already, started by process ${cluster.child.pid}`);
    expect(await statusOf(home, `${pidsOf(home).front.url}/readyz`)).toBe(200);
  });

  test.each(['replicas', 'etcd', 'front'] as const)(
    'restarts one of its %s when it is killed, logs why, and answers afterwards',
    async (role) => {
      const victim = [pidsOf(home)[role]].flat()[0]?.pid ?? 0;
      process.kill(victim, 'SIGKILL');
      await until('another process', () => [pidsOf(home)[role]].flat()[0]?.pid !== victim || undefined, slowTestMs);
      expect(cluster.output()).toMatch(new RegExp(`\\(pid ${victim}\\) was killed by SIGKILL; starting it again in`));
      const { front, replicas } = pidsOf(home);
      for (const { url } of [front, ...replicas])
        await until(
          `an answer of ${url}`,
          async () => (await statusOf(home, `${url}/readyz`)) === 200 || undefined,
          slowTestMs,
        );
    },
    slowTestMs,
  );
});

describe('across starts', () => {
  let home: Home;

  beforeEach(() => {
    home = newHome();
  });

  afterEach(() => remove(home));

  test(
    'data, addresses and credentials are kept, every process ends, and a fresh start discards the data',
    async () => {
      const first = await start(home, oneReplica);
      const before = pidsOf(home);
      const account = '/api/v1/namespaces/team-a/serviceaccounts';
      const robot = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'robot' } };
      expect(await statusOf(home, `${before.front.url}${account}`, robot)).toBe(201);
      const tokens = () => [home.adminToken, home.developerToken].map((file) => fs.readFileSync(file, 'utf8'));
      const [adminToken, developerToken] = tokens();
      const binding = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/developer';
      const bound = await answerOf(home, `${before.front.url}${binding}`);
      expect(bound?.status).toBe(200);
      await stop(first);
      expect(processesOf(before).filter(runsHere(home))).toEqual([]);
      expect(fs.existsSync(home.pids)).toBe(false);

      const second = await start(home, oneReplica);
      const after = pidsOf(home);
      expect(after.replicas.map(({ url }) => url)).toEqual(before.replicas.map(({ url }) => url));
      expect(tokens()).toEqual([adminToken, developerToken]);
      expect(await answerOf(home, `${after.front.url}${binding}`)).toEqual(bound);
      expect(await statusOf(home, `${after.front.url}${account}/robot`)).toBe(200);
      await stop(second);

      const third = await start(home, [...oneReplica, '--fresh']);
      expect(await statusOf(home, `${pidsOf(home).front.url}${account}/robot`)).toBe(404);
      await stop(third);
    },
    slowTestMs,
  );

  test(
    'three members serve one replica, and another number of members is refused while their data exists',
    async () => {
      await stop(await start(home, [...oneReplica, '--etcd-members', '3']));
      const other = launch(home);
      expect(await other.exit).toEqual({ code: 1, signal: null });
      expect(other.output()).toContain('--etcd-members 3');
    },
    slowTestMs,
  );

  test(
    'no process outlives a killed launcher, and the next start works',
    async () => {
      const killed = await start(home, oneReplica);
      const pids = pidsOf(home);
      killed.child.kill('SIGKILL');
      await until(
        'every process to end',
        () => processesOf(pids).filter(runsHere(home)).length === 0 || undefined,
        slowTestMs,
      );
      await stop(await start(home, oneReplica));
    },
    slowTestMs,
  );

  test(
    'processes that outlived both the launcher and the front are ended by the next start',
    async () => {
      const killed = await start(home, oneReplica);
      const pids = pidsOf(home);
      killed.child.kill('SIGSTOP'); // so that it does not replace the front
      process.kill(pids.front.pid, 'SIGKILL');
      killed.child.kill('SIGKILL');
      await killed.exit;
      const next = await start(home, oneReplica);
      expect(next.output()).toContain('Ended 2 process(es)');
      expect(processesOf(pids).filter(runsHere(home))).toEqual([]);
      await stop(next);
    },
    slowTestMs,
  );

  test(
    'an interrupted start leaves no process behind',
    async () => {
      const launched = launch(home, oneReplica);
      await until('the first process', () => fs.existsSync(home.children) || undefined, slowTestMs);
      const { etcd } = JSON.parse(fs.readFileSync(home.children, 'utf8')) as Pids; // the launcher writes this form
      launched.child.kill('SIGINT');
      expect(await launched.exit).toEqual({ code: 0, signal: null });
      expect(etcd.map(({ pid }) => pid).filter(runsHere(home))).toEqual([]);
    },
    slowTestMs,
  );

  test(
    "a flag that the server refuses ends the start with the server's message",
    async () => {
      const refused = launch(home, ['--', '--no-such-flag=1']);
      expect(await refused.exit).toEqual({ code: 1, signal: null });
      expect(refused.output()).toMatch(/replica-\d ended with code \d+ while starting[^]*no-such-flag/);
    },
    slowTestMs,
  );
});

interface Launched {
  readonly child: ChildProcess;
  readonly exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  output(): string;
}

/** These tests send no requests while a cluster stops, so its replicas need not wait for the front to notice. */
const stopAtOnce = ['--', '--shutdown-delay-duration=0s'];

function launch(home: Home, args: readonly string[] = []): Launched {
  const own = ['--data-dir', home.directory, '--port', '0'];
  const given = args.includes('--') ? args : [...args, ...stopAtOnce];
  const child = spawn(process.execPath, [builtLauncher, ...own, ...given], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text));
  const exit = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  return { child, exit, output: () => output };
}

async function start(home: Home, args: readonly string[] = []): Promise<Launched> {
  const launched = launch(home, args);
  const first = await Promise.race([once(launched.child, 'message').then(() => 'ready'), launched.exit]);
  if (first !== 'ready') throw new Error(`the cluster did not start:\n${launched.output()}`);
  return launched;
}

async function stop({ child, exit }: Launched): Promise<void> {
  child.kill('SIGTERM');
  expect(await exit).toEqual({ code: 0, signal: null });
}

const newHome = (): Home => getHome(fs.mkdtempSync(path.join(os.tmpdir(), 'devcluster-')));

const remove = (home: Home): void => fs.rmSync(home.directory, { recursive: true, force: true });

/** The launcher writes this form. */
const pidsOf = (home: Home): Pids => JSON.parse(fs.readFileSync(home.pids, 'utf8')) as Pids;

const processesOf = ({ front, replicas, etcd }: Pids): number[] => [front, ...replicas, ...etcd].map(({ pid }) => pid);

const runsHere = (home: Home) => (pid: number) => commandLine(pid)?.includes(home.directory) ?? false;

const statusOf = async (home: Home, url: string, body?: object): Promise<number | undefined> =>
  (await answerOf(home, url, body))?.status;

/** Undefined when there is no answer. A body makes it a POST; the administrator asks, unless another token is given. */
function answerOf(
  home: Home,
  url: string,
  body?: object,
  token = fs.readFileSync(home.adminToken, 'utf8'),
): Promise<ClientResponse | undefined> {
  const options = body ? { body } : {};
  const access = { ca: fs.readFileSync(home.ca), token };
  return requestOnce(url, access, body ? 'POST' : 'GET', '', options).catch(() => undefined);
}
