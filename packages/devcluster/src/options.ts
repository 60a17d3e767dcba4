import { nearestName } from '@cluster-apiserver/base';
import { isIP } from 'node:net';

/** The options of `cluster-apiserver start`. */
export interface Options {
  readonly replicas: number;
  readonly etcdMembers: number;
  /** An external etcd; then none is started. */
  readonly etcdServers: string | undefined;
  /** The public port; 0 for any free one. */
  readonly port: number;
  /** The address at which the public port listens. */
  readonly listen: string;
  readonly dataDir: string;
  readonly fresh: boolean;
  readonly printKubeconfig: boolean;
  readonly configDir: string | undefined;
  /** Flags after a second `--`, passed to every replica. */
  readonly replicaFlags: readonly string[];
}

/** Invalid arguments; the message is for the user. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** More replicas would only compete for CPU. */
const replicasMax = 9;
/** etcd itself advises against more than seven. */
const etcdMembersMax = 7;

const createNumberParser = (min: number, max: number) => (value: string, name: string) => {
  const number = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw new UsageError(`${name} takes a number from ${min} to ${max}, not "${value}"`);
};

const parseAddress = (value: string, name: string): string => {
  if (isIP(value) !== 0) return value;
  throw new UsageError(`${name} takes an IP address, not "${value}"`);
};

const parseText = (value: string, name: string): string => {
  if (value !== '') return value;
  throw new UsageError(`${name} needs a value`);
};

/** All options. Parser, name check and help follow from this table. */
const table = {
  '--replicas': { value: 'N', parse: createNumberParser(1, replicasMax), help: 'API servers behind the address (1)' },
  '--etcd-members': { value: 'N', parse: createNumberParser(1, etcdMembersMax), help: 'etcd members to start (1)' },
  '--etcd-servers': { value: 'URLS', parse: parseText, help: 'use this etcd, comma separated, and start none' },
  '--port': {
    value: 'N',
    parse: createNumberParser(0, 65_535),
    help: 'public port (6443); 0 takes a free one',
  },
  '--listen': { value: 'ADDRESS', parse: parseAddress, help: 'where the public port listens (127.0.0.1)' },
  '--data-dir': { value: 'DIR', parse: parseText, help: 'where everything is kept (.cluster)' },
  '--fresh': { help: 'begin with an empty store' },
  '--print-kubeconfig': { help: 'print the kubeconfig of the administrator, too' },
  '--config-dir': {
    value: 'DIR',
    parse: parseText,
    help: 'DIR/NAME.EXT becomes --NAME=DIR/NAME.EXT for every replica',
  },
  '--help': { help: 'show this' },
} as const;

type Name = keyof typeof table;
const isName = (text: string): text is Name => Object.hasOwn(table, text);
const names = Object.keys(table).filter(isName);

/** Undefined when help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  const given = new Map<Name, string>();
  for (let i = 0; i < end; i += 1) {
    const [typed, attached] = splitArgument(args[i] ?? '');
    const name = requireKnown(typed);
    if (given.has(name)) throw new UsageError(`${name} is given twice`);
    if (!('value' in table[name])) {
      if (attached !== undefined) throw new UsageError(`${name} takes no value`);
      given.set(name, '');
      continue;
    }
    if (attached === undefined) i += 1;
    const value = attached ?? (i < end ? args[i] : undefined);
    if (value === undefined || (attached === undefined && value.startsWith('--')))
      throw new UsageError(`${name} needs a value`);
    given.set(name, value);
  }
  if (given.has('--help')) return undefined;
  return toOptions(given, args.slice(end + 1));
}

export function usage(): string {
  const left = (name: Name): string => {
    const option = table[name];
    return `  ${name} ${'value' in option ? option.value : ''}`;
  };
  const width = Math.max(...names.map((name) => left(name).length)) + 2;
  return [
    'Starts a cluster to try: etcd, replicas behind one address, and kubeconfigs.',
    '',
    'Usage:',
    '  cluster-apiserver start [OPTIONS] [-- FLAGS]   FLAGS go to every replica',
    '  npm start -- [OPTIONS] [-- FLAGS]              the same in a checkout, with two replicas',
    '',
    'Options:',
    ...names.map((name) => `${left(name).padEnd(width)}${table[name].help}`),
  ].join('\n');
}

function toOptions(given: ReadonlyMap<Name, string>, replicaFlags: readonly string[]): Options {
  const valueOf = <T>(name: Name, parse: (value: string, name: string) => T): T | undefined => {
    const value = given.get(name);
    return value === undefined ? undefined : parse(value, name);
  };
  const etcdServers = valueOf('--etcd-servers', table['--etcd-servers'].parse);
  if (etcdServers !== undefined && given.has('--etcd-members')) {
    throw new UsageError('--etcd-servers and --etcd-members exclude each other: the first starts no etcd');
  }
  return {
    replicas: valueOf('--replicas', table['--replicas'].parse) ?? 1,
    etcdMembers: valueOf('--etcd-members', table['--etcd-members'].parse) ?? 1,
    etcdServers,
    port: valueOf('--port', table['--port'].parse) ?? 6443,
    listen: valueOf('--listen', table['--listen'].parse) ?? '127.0.0.1',
    dataDir: valueOf('--data-dir', table['--data-dir'].parse) ?? '.cluster',
    fresh: given.has('--fresh'),
    printKubeconfig: given.has('--print-kubeconfig'),
    configDir: valueOf('--config-dir', table['--config-dir'].parse),
    replicaFlags,
  };
}

function splitArgument(argument: string): [string, string | undefined] {
  const sign = argument.indexOf('=');
  return sign < 0 ? [argument, undefined] : [argument.slice(0, sign), argument.slice(sign + 1)];
}

function requireKnown(typed: string): Name {
  if (isName(typed)) return typed;
  const nearest = nearestName(typed, names);
  throw new UsageError(
    `unknown option ${typed}${nearest ? `; did you mean ${nearest}?` : ''} (npm start -- OPTIONS -- FLAGS: flags of the server go behind a second --)`,
  );
}
