import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { seededRandom, systemClock, systemRandom } from '@cluster-apiserver/base';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { readConfigDirectory } from './config-directory.ts';
import { writeCredentials } from './credentials.ts';
import { type Home, getHome } from './home.ts';
import { endLeftovers } from './leftovers.ts';
import { AlreadyRunningError, lock } from './lock.ts';
import { UsageError } from './options.ts';
import { writeChildren } from './pids.ts';
import { commandLine } from './processes.ts';
import { writeEncryptionConfiguration } from './encryption.ts';
import { createReplicaPrograms } from './replica-process.ts';
import { forgetMembers, planTopology } from './topology.ts';

// What a start finds of the starts before it, and what it leaves for the next.

let home: Home;
const children: ChildProcess[] = [];

beforeEach(() => {
  home = getHome(fs.mkdtempSync(path.join(os.tmpdir(), 'devcluster-')));
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  fs.rmSync(home.directory, { recursive: true, force: true });
});

describe('the lock', () => {
  test('is held by one launcher at a time', async () => {
    const other = await idle('devcluster');
    lock(home.lock, other.pid);
    expect(() => lock(home.lock, process.pid)).toThrow(AlreadyRunningError);
  });

  test('is free again after release, when its holder is dead, and when its PID was reused', async () => {
    lock(home.lock, process.pid)();
    const stranger = await idle('something else');
    for (const holder of ['999999999', String(stranger.pid), 'nonsense', '']) {
      fs.writeFileSync(home.lock, holder);
      lock(home.lock, process.pid)();
    }
    expect(fs.existsSync(home.lock)).toBe(false);
  });
});

describe('leftovers of a killed launcher', () => {
  test('are ended when they run in our directory, but not other processes with a reused PID', async () => {
    const ours = await idle(path.join(home.data, 'etcd-1'));
    const stranger = await idle('something else');
    const url = 'https://127.0.0.1:1';
    writeChildren(home, {
      etcd: [{ ...ours, url }],
      replicas: [
        { ...stranger, url },
        { pid: 999_999_999, url },
      ],
      front: [],
    });
    expect(await endLeftovers(home, process.pid, systemClock)).toBe(1);
    expect(alive(ours.pid)).toBe(false);
    expect(alive(stranger.pid)).toBe(true);
    expect(await endLeftovers(home, process.pid, systemClock)).toBe(0);
  });
});

describe('ports', () => {
  const wanted = { etcdMembers: 3, replicas: 2, publicPort: 6443 };

  test('stay the same across starts, also when a start in between has fewer processes', async () => {
    const first = await planTopology(home, wanted, systemRandom());
    expect(await planTopology(home, wanted, systemRandom())).toEqual(first);
    await planTopology(home, { ...wanted, etcdMembers: 0 }, systemRandom());
    expect(await planTopology(home, wanted, systemRandom())).toEqual(first);
  });

  test('are all different, even when the random port repeats', async () => {
    const { etcd, replicas } = await planTopology(home, wanted, { ...seededRandom(1), below: counting() });
    const all = [...replicas, ...etcd.flatMap(({ client, peer }) => [client, peer])];
    expect(new Set(all).size).toBe(8);
  });

  test('of a replica change when taken; a taken port of a member is an error', async () => {
    const first = await planTopology(home, wanted, systemRandom());
    const [replica = 0] = first.replicas;
    await whileTaken(replica, async () => {
      const { replicas, etcd } = await planTopology(home, wanted, systemRandom());
      expect(replicas[0]).not.toBe(replica);
      expect(etcd).toEqual(first.etcd);
    });
    await whileTaken(first.etcd[0]?.peer ?? 0, async () => {
      await expect(planTopology(home, wanted, systemRandom())).rejects.toThrow(/taken/);
    });
  });

  test('of a replica move away from the public port', async () => {
    const [publicPort = 0, other] = (await planTopology(home, wanted, systemRandom())).replicas;
    const { replicas } = await planTopology(home, { ...wanted, publicPort }, systemRandom());
    expect(replicas[0]).not.toBe(publicPort);
    expect(replicas[1]).toBe(other);
  });

  test('of a cluster with another number of members are refused until its data is discarded', async () => {
    await planTopology(home, wanted, systemRandom());
    const one = { ...wanted, etcdMembers: 1 };
    await expect(planTopology(home, one, systemRandom())).rejects.toThrow(/belongs to 3 etcd member\(s\)/);
    forgetMembers(home);
    expect((await planTopology(home, one, systemRandom())).etcd).toHaveLength(1);
  });
});

describe('credentials', () => {
  test('stay the same across starts, and secrets are readable by their owner only', async () => {
    await writeCredentials(home, 'https://127.0.0.1:1', systemClock, systemRandom());
    const [ca, token, key] = [home.ca, home.adminToken, home.signingKey].map((file) => fs.readFileSync(file, 'utf8'));
    await writeCredentials(home, 'https://127.0.0.1:2', systemClock, systemRandom());
    expect(fs.readFileSync(home.ca, 'utf8')).toBe(ca);
    expect(fs.readFileSync(home.adminToken, 'utf8')).toBe(token);
    expect(fs.readFileSync(home.signingKey, 'utf8')).toBe(key);
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(fs.readFileSync(home.formatKubeconfig, 'utf8')).toContain('server: https://127.0.0.1:2\n');
    for (const file of [
      home.adminToken,
      home.tokenFile,
      home.formatKubeconfig,
      home.serverKey,
      path.join(home.pki, 'ca.key'),
      home.signingKey,
    ]) {
      expect(fs.statSync(file).mode & 0o077).toBe(0);
    }
  });
});

describe('flags of the replicas', () => {
  const flagsWith = (flags: readonly string[], encrypted = true): readonly string[] => {
    const settings = {
      node: 'node',
      ports: [1],
      address: 'https://127.0.0.1:6443',
      etcdServers: 'http://127.0.0.1:2',
      encrypted,
      flags,
      env: {},
    };
    return createReplicaPrograms(settings, home)[0]?.args ?? [];
  };

  test('give each replica its own audit log', () => {
    expect(flagsWith(['--audit-log-path=logs/audit.log'])).toContain('--audit-log-path=logs/audit-replica-1.log');
    expect(flagsWith(['--audit-log-path=-'])).toContain('--audit-log-path=-');
  });

  test('encrypt stored resources with a key generated once, unless etcd is external or the user overrides it', () => {
    const flag = `--encryption-provider-config=${home.encryption}`;
    expect(flagsWith([])).toContain(flag);
    expect(flagsWith([], false)).not.toContain(flag);
    expect(flagsWith(['--encryption-provider-config=mine'])).not.toContain(flag);
    writeEncryptionConfiguration(home, systemRandom());
    const made = fs.readFileSync(home.encryption, 'utf8');
    expect(made).toMatch(/secret: [A-Za-z0-9+/]{43}=\n/);
    expect(fs.statSync(home.encryption).mode & 0o077).toBe(0);
    writeEncryptionConfiguration(home, systemRandom());
    expect(fs.readFileSync(home.encryption, 'utf8')).toBe(made);
  });

  test('make the replicas sign service account tokens with one key, with the cluster address as issuer', () => {
    expect(flagsWith([])).toContain('--service-account-issuer=https://127.0.0.1:6443');
    expect(flagsWith([])).toContain(`--service-account-signing-key-file=${home.signingKey}`);
  });

  test('make the replicas sign certificates of clients with the authority of the cluster, and trust it', () => {
    expect(flagsWith([])).toEqual(
      expect.arrayContaining([
        `--client-ca-file=${home.ca}`,
        `--cluster-signing-cert-file=${home.ca}`,
        `--cluster-signing-key-file=${home.authorityKey}`,
      ]),
    );
    expect(flagsWith(['--client-ca-file=mine']).join(' ')).not.toMatch(/client-ca-file=(?!mine)|cluster-signing/);
  });

  test('may replace a default of the launcher', () => {
    expect(flagsWith([])).toContain('--shutdown-delay-duration=2s');
    const args = flagsWith(['--shutdown-delay-duration=0s']);
    expect(args.filter((arg) => arg.startsWith('--shutdown-delay-duration'))).toEqual(['--shutdown-delay-duration=0s']);
  });

  test.each(['--secure-port=1', '--etcd-servers', '--token-auth-file=x'])(
    'cannot override %s, which the launcher sets',
    (flag) => {
      expect(() => flagsWith([flag])).toThrow(UsageError);
    },
  );

  test('come from the files of a configuration directory that are named after them', () => {
    for (const file of ['audit-policy-file.yaml', 'tracing-config-file.json', '.hidden', 'README.md', 'notes']) {
      fs.writeFileSync(path.join(home.directory, file), '');
    }
    fs.mkdirSync(path.join(home.directory, 'folder.d'));
    expect(readConfigDirectory(home.directory)).toEqual([
      `--audit-policy-file=${home.directory}/audit-policy-file.yaml`,
      `--tracing-config-file=${home.directory}/tracing-config-file.json`,
    ]);
    expect(() => readConfigDirectory(path.join(home.directory, 'absent'))).toThrow(UsageError);
  });
});

/** A process that does nothing, with a word in its command line. */
async function idle(word: string): Promise<{ readonly pid: number }> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log(1)', word], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return { pid: child.pid ?? 0 };
}

/** A process that has ended and was not buried yet has no command line any more. */
const alive = (pid: number): boolean => commandLine(pid) !== undefined;

async function whileTaken(port: number, work: () => Promise<void>): Promise<void> {
  const server = net.createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work();
  } finally {
    server.close();
    await once(server, 'close');
  }
}

/** The same number twice before the next one. */
function counting(): () => number {
  let calls = 0;
  return () => Math.floor(calls++ / 2);
}
