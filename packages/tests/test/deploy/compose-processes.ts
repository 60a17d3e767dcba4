import { CleanupStack } from '@cluster-apiserver/base';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { isReady } from '@cluster-apiserver/testkit/api-client';
import { endProcess, isRunning } from '@cluster-apiserver/testkit/child-process';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { until } from '@cluster-apiserver/testkit/until';
import { readComposeFile, root } from './compose-file.ts';

/**
 * Runs the services of docker-compose.yml as processes, for tests without a container engine: the same programs with
 * the same flags, variables and configuration files behind the same load balancer. Only addresses and paths differ.
 */
export interface ComposeProcesses {
  /** URL of the load balancer. */
  readonly url: string;
  readonly ca: Buffer;
  /** Serving certificate for a load balancer that terminates TLS. */
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
  /** A file of deploy/compose/config, adapted for the replicas. */
  configuration(name: string): string;
  readonly admin: Identity;
  readonly developer: Identity;
  readonly replicas: readonly Replica[];
  signalEtcd(name: NodeJS.Signals): void;
  readonly loadBalancer: { readonly pid: number; readonly metricsUrl: string };
  stop(): Promise<void>;
}

/** A client certificate. */
export interface Identity {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface Replica {
  readonly url: string;
  signal(name: NodeJS.Signals): void;
  /** Restarts the stopped replica. */
  restart(): Promise<void>;
  log(): string;
}

const haproxy = process.env.HAPROXY_BIN;

const readyMs = 60_000;
const members = ['etcd-1', 'etcd-2', 'etcd-3'];

export async function startComposeProcesses(): Promise<ComposeProcesses> {
  const cleanup = new CleanupStack();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'compose-'));
  cleanup.defer('files', () => fs.rmSync(home, { recursive: true, force: true }));
  try {
    return await start(home, cleanup);
  } catch (error) {
    await cleanup.close();
    throw error;
  }
}

async function start(home: string, cleanup: CleanupStack): Promise<ComposeProcesses> {
  const { services } = readComposeFile();
  const names = Object.keys(services).filter((name) => name.startsWith('apiserver-') && !services[name]?.profiles);
  const ports = [...(await freePorts(names.length + members.length * 3 + 2))];
  const port = (): number => ports.pop() as number;
  const publicPort = port();
  const url = `https://127.0.0.1:${publicPort}`;
  fs.cpSync(path.join(root, 'deploy', 'compose', 'config'), path.join(home, 'config'), { recursive: true });
  fs.mkdirSync(path.join(home, 'credentials'));
  await runToSuccess(process.execPath, [
    path.join(root, 'packages', 'devcluster', 'dist', 'compose', 'main.js'),
    home,
    url,
  ]);

  const addresses = new Map<string, string>();
  for (const member of members)
    for (const inside of ['2379', '2380']) addresses.set(`${member}:${inside}`, `127.0.0.1:${port()}`);
  const adaptAddresses = (text: string): string =>
    [...addresses].reduce((adapted, [name, address]) => adapted.replaceAll(name, address), text);

  const etcd = members.map((member) => {
    const { environment = {} } = services[member] ?? {};
    const variables = Object.entries(environment).map(([name, value]) => [
      name,
      adaptAddresses(value.replaceAll(/0\.0\.0\.0:(\d+)/g, `${member}:$1`))
        .replace('/etc/etcd/', `${home}/etcd/`)
        .replace('/var/lib/etcd', `${home}/data/${member}`),
    ]);
    const env = { PATH: process.env.PATH, ...Object.fromEntries(variables), ETCD_LISTEN_METRICS_URLS: '' };
    return run(process.env.ETCD_BIN ?? 'etcd', [], env, path.join(home, `${member}.log`));
  });
  cleanup.defer('etcd', async () => void (await Promise.all(etcd.map((child) => endProcess(child)))));

  const replicas = names.map((name) => {
    const securePort = port();
    addresses.set(`${name}:6443`, `127.0.0.1:${securePort}`);
    return replicaOf(name, securePort, services[name]?.command ?? [], { home, here: adaptAddresses });
  });
  cleanup.defer('replicas', async () => void (await Promise.all(replicas.map((replica) => replica.end()))));
  const ca = fs.readFileSync(path.join(home, 'credentials', 'ca.crt'));
  await Promise.all(replicas.map((replica) => replica.restart()));

  const metricsPort = port();
  const config = adaptAddresses(fs.readFileSync(path.join(root, 'deploy/compose/load-balancer/haproxy.cfg'), 'utf8'))
    .replace('bind :6443', `bind 127.0.0.1:${publicPort}`)
    .replace('bind :8405', `bind 127.0.0.1:${metricsPort}`)
    // There is no engine DNS, so the addresses of the template are written out.
    .replace(/resolvers docker\n( +.*\n)+/, '')
    .replaceAll(/server-template (\S+-) 9 apiserver:6443 .*/g, (_, prefix: string) =>
      replicas.map((replica, at) => `server ${prefix}${at + 1} ${new URL(replica.url).host}`).join('\n    '),
    )
    .replaceAll('abns@no-replicas', `abns@${path.basename(home)}`)
    .replaceAll('/etc/load-balancer/', `${home}/load-balancer/`);
  const configFile = path.join(home, 'haproxy.cfg');
  fs.writeFileSync(configFile, config);
  const balancer = run(
    haproxy ?? 'haproxy',
    ['-db', '-f', configFile],
    { PATH: process.env.PATH },
    path.join(home, 'haproxy.log'),
  );
  cleanup.defer('load balancer', () => endProcess(balancer, 'SIGKILL'));
  await until('the load balancer', () => isReady(url, { rejectUnauthorized: false }), readyMs);
  const identity = (user: string): Identity => ({
    cert: fs.readFileSync(path.join(home, 'credentials', `${user}.crt`)),
    key: fs.readFileSync(path.join(home, 'credentials', `${user}.key`)),
  });
  return {
    url,
    ca,
    files: {
      ca: path.join(home, 'load-balancer', 'ca.crt'),
      cert: path.join(home, 'apiserver', 'server.crt'),
      key: path.join(home, 'apiserver', 'server.key'),
    },
    configuration: (name) => fs.readFileSync(path.join(home, 'apiserver', name), 'utf8'),
    admin: identity('admin'),
    developer: identity('developer'),
    replicas,
    signalEtcd: (signal) => {
      for (const child of etcd) child.kill(signal);
    },
    loadBalancer: { pid: balancer.pid ?? 0, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` },
    stop: () => cleanup.close((what, error) => console.error(what, error)),
  };
}

function replicaOf(
  name: string,
  port: number,
  command: readonly string[],
  { home, here }: { readonly home: string; readonly here: (text: string) => string },
): Replica & { end(): Promise<void> } {
  const flags = [
    ...command.map((flag) => here(flag).replace('/etc/cluster-apiserver/', `${home}/apiserver/`)),
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
  ];
  const url = `https://127.0.0.1:${port}`;
  const logFile = path.join(home, `${name}.log`);
  let child: ChildProcess | undefined;
  return {
    url,
    signal: (signal) => void child?.kill(signal),
    restart: async () => {
      if (child && isRunning(child)) await once(child, 'exit');
      const program = path.join(root, 'packages', 'server', 'dist', 'main.js');
      child = run(process.execPath, [program, ...flags], { PATH: process.env.PATH }, logFile);
      const started = child;
      await until(
        name,
        () => {
          if (started.exitCode !== null) throw new Error(`${name} exited: ${fs.readFileSync(logFile, 'utf8')}`);
          return isReady(url, { rejectUnauthorized: false });
        },
        readyMs,
      );
    },
    log: () => fs.readFileSync(logFile, 'utf8'),
    end: async () => {
      if (child) await endProcess(child, 'SIGKILL');
    },
  };
}

function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv, logFile: string): ChildProcess {
  const log = fs.openSync(logFile, 'a');
  try {
    return spawn(program, args, { env, stdio: ['ignore', log, log] });
  } finally {
    fs.closeSync(log); // the child has its own descriptor
  }
}

async function runToSuccess(program: string, args: readonly string[]): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${args[0]} ended with code ${code}`);
}
