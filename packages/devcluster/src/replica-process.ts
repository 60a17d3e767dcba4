import fs from 'node:fs';
import path from 'node:path';
import type { Home } from './home.ts';
import { UsageError } from './options.ts';
import { findProgram } from './program-in.ts';
import type { Program } from './supervise.ts';

export const replicaUrl = (port: number): string => `https://127.0.0.1:${port}`;

export interface ReplicaSettings {
  readonly node: string;
  readonly ports: readonly number[];
  /** URL of the cluster for clients. */
  readonly address: string;
  readonly etcdServers: string;
  /** Disabled for an external etcd, whose other users could not read the objects. */
  readonly encrypted: boolean;
  /** Flags from the configuration directory and from the command line, the latter last. */
  readonly flags: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/** Reads environment variables and Node options from the shebang line of a program. */
function readShebang(program: string): { readonly env: NodeJS.ProcessEnv; readonly options: readonly string[] } {
  const [firstLine = ''] = fs.readFileSync(program, 'utf8').split('\n', 1);
  const words = firstLine.split(' ');
  return {
    env: Object.fromEntries(words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('='))),
    options: words.filter((word) => word.startsWith('--')),
  };
}

/**
 * Time between failing /readyz and closing the port. The front polls every 200 ms, so it stops sending connections in time,
 * even on a busy machine.
 */
const shutdownDelay = '2s';

/** The programs of the replicas. Flags of the user override defaults. */
export function createReplicaPrograms(
  { node, ports, address, etcdServers, encrypted, flags, env }: ReplicaSettings,
  home: Home,
): Program[] {
  const server = findProgram('server');
  const firstLine = readShebang(server.file);
  return ports.map((port, i) => {
    const name = `replica-${i + 1}`;
    const owned = {
      'bind-address': '127.0.0.1',
      'secure-port': port,
      'tls-cert-file': home.serverCertificate,
      'tls-private-key-file': home.serverKey,
      'token-auth-file': home.tokenFile,
      'etcd-servers': etcdServers,
    };
    const defaults = {
      'shutdown-delay-duration': shutdownDelay,
      'root-ca-file': home.ca,
      ...signingFlags(home, flags),
      'service-account-issuer': address,
      'service-account-signing-key-file': home.signingKey,
      ...(encrypted && {
        'encryption-provider-config': home.encryption,
        'encryption-provider-config-automatic-reload': 'true',
      }),
    };
    return {
      name,
      command: node,
      args: [
        ...firstLine.options,
        ...server.options,
        server.file,
        ...mergeFlags(
          owned,
          defaults,
          flags.map((flag) => giveOwnAuditLog(flag, name)),
        ),
      ],
      // Variables of the user take precedence.
      env: { ...firstLine.env, ...env },
      logFile: path.join(home.logs, `${name}.log`),
    };
  });
}

/** What signs certificates of clients is also trusted, so one's own authority replaces all three. */
function signingFlags({ ca, authorityKey }: Home, flags: readonly string[]): Flags {
  return flags.some((flag) => /^--(client-ca-file|cluster-signing-(cert|key)-file)\b/.test(flag))
    ? {}
    : { 'client-ca-file': ca, 'cluster-signing-cert-file': ca, 'cluster-signing-key-file': authorityKey };
}

/** Each replica has its own audit log: two writers would rotate each other's file. */
function giveOwnAuditLog(flag: string, replica: string): string {
  const file = /^--audit-log-path=(.+)$/.exec(flag)?.[1];
  if (file === undefined || file === '-') return flag;
  const { dir, name, ext } = path.parse(file);
  return `--audit-log-path=${path.join(dir, `${name}-${replica}${ext}`)}`;
}

type Flags = Readonly<Record<string, string | number>>;

function mergeFlags(owned: Flags, defaults: Flags, flags: readonly string[]): string[] {
  const given = new Set(flags.map((flag) => /^--([^=]+)/.exec(flag)?.[1]));
  const clash = Object.keys(owned).find((name) => given.has(name));
  if (clash) throw new UsageError(`--${clash} is set by the launcher and cannot be given to the replicas`);
  const kept = Object.entries(defaults).filter(([name]) => !given.has(name));
  return [...[...Object.entries(owned), ...kept].map(([name, value]) => `--${name}=${value}`), ...flags];
}
