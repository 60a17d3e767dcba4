import path from 'node:path';
import type { Home } from './home.ts';
import type { Program } from './supervise.ts';
import type { EtcdPorts } from './topology.ts';

export const clientUrl = ({ client }: EtcdPorts): string => `http://127.0.0.1:${client}`;
const peerUrl = ({ peer }: EtcdPorts): string => `http://127.0.0.1:${peer}`;

/** The programs of the etcd members. */
export function createEtcdPrograms(
  binary: string,
  members: readonly EtcdPorts[],
  home: Home,
  env: NodeJS.ProcessEnv,
): Program[] {
  const cluster = members.map((member, i) => `${nameOf(i)}=${peerUrl(member)}`).join(',');
  return members.map((member, i) => {
    const flags = {
      name: nameOf(i),
      'data-dir': path.join(home.data, nameOf(i)),
      'listen-client-urls': clientUrl(member),
      'advertise-client-urls': clientUrl(member),
      'listen-peer-urls': peerUrl(member),
      'initial-advertise-peer-urls': peerUrl(member),
      'initial-cluster': cluster,
      logger: 'zap',
    };
    return {
      name: nameOf(i),
      command: binary,
      args: Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
      env: dropEtcdVariables(env),
      logFile: path.join(home.logs, `${nameOf(i)}.log`),
    };
  });
}

/** Timeout of one request to a starting member. */
const answerTimeoutMs = 1_000;

/** The version of a member; undefined while it knows no leader. */
export async function readEtcdVersion(url: string): Promise<string | undefined> {
  const get = (target: string): Promise<Response> =>
    fetch(`${url}${target}`, { signal: AbortSignal.timeout(answerTimeoutMs) });
  try {
    if (!(await get('/health')).ok) return undefined;
    const about: unknown = await (await get('/version')).json();
    return typeof about === 'object' && about !== null && 'etcdserver' in about ? String(about.etcdserver) : undefined;
  } catch {
    return undefined; // the caller retries, and shows the log of the member after its timeout
  }
}

const nameOf = (index: number): string => `etcd-${index + 1}`;

/** etcd also reads its flags from the environment; inherited ones could change its data directory or ports. */
const dropEtcdVariables = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('ETCD_')));
