import { nearestName, parseDuration } from '@cluster-apiserver/base';

/**
 * The flags of the server. One declaration each, from which reading, `--help`, checking and the typed options follow.
 * They carry upstream's names wherever upstream has the thing.
 */
interface Flag<T> {
  readonly group: string;
  readonly help: string;
  /** As an operator would write it. */
  readonly fallback: string;
  /** What stands behind `--name` in the help; a flag without it is a switch. */
  readonly placeholder?: string;
  /** Undefined when the text is no such value. */
  readonly read: (text: string) => T | undefined;
  /** What a value should have looked like. */
  readonly wanted: string;
}

type Described<T> = Pick<Flag<T>, 'group' | 'help' | 'fallback'>;

const text = (flag: Described<string>, placeholder = 'string'): Flag<string> => ({
  ...flag,
  placeholder,
  read: (value) => value,
  wanted: 'a text',
});
const path = (flag: Described<string>): Flag<string> => text(flag, 'path');
const integer = (flag: Described<number>, [least, most]: readonly [number, number]): Flag<number> => ({
  ...flag,
  placeholder: 'int',
  read: (value) =>
    /^-?[0-9]+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined,
  wanted: `a whole number from ${least} to ${most}`,
});
const durationMs = (flag: Described<number>): Flag<number> => ({
  ...flag,
  placeholder: 'duration',
  read: (value) => {
    const parsed = parseDuration(value);
    return parsed !== undefined && parsed >= 0 ? parsed : undefined;
  },
  wanted: 'a duration such as 30s, 5m or 1h30m',
});
const list = (flag: Described<readonly string[]>): Flag<readonly string[]> => ({
  ...flag,
  placeholder: 'strings',
  read: (value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  wanted: 'a list, separated by commas',
});
const pairs = (flag: Described<ReadonlyMap<string, string>>): Flag<ReadonlyMap<string, string>> => ({
  ...flag,
  placeholder: 'name=value,…',
  read: (value) => {
    const parts = value
      .split(',')
      .filter((part) => part !== '')
      .map((part) => part.split('=', 2).map((side) => side.trim()));
    return parts.every(([name, given]) => name && given) ? new Map(parts as [string, string][]) : undefined;
  },
  wanted: 'pairs such as A=true,B=false',
});
const oneOf = <T extends string>(flag: Described<T>, values: readonly T[]): Flag<T> => ({
  ...flag,
  placeholder: values.join('|'),
  read: (value) => values.find((one) => one === value),
  wanted: `one of ${values.join(', ')}`,
});
const flagSwitch = (flag: Omit<Described<boolean>, 'fallback'>): Flag<boolean> => ({
  ...flag,
  fallback: 'false',
  read: (value) => (value === 'true' ? true : value === 'false' ? false : undefined),
  wanted: 'true or false',
});

const generic = 'Generic flags';
const etcd = 'Etcd flags';
const serving = 'Secure serving flags';
const authentication = 'Authentication flags';
const admission = 'Admission flags';
const features = 'Features flags';
const logs = 'Logs flags';
const global = 'Global flags';

const flags = {
  'request-timeout': durationMs({
    group: generic,
    fallback: '1m0s',
    help: 'How long a request may take, unless it is a watch.',
  }),
  'min-request-timeout': integer(
    {
      group: generic,
      fallback: '1800',
      help: 'Seconds after which, and within as many again, a watch ends that names no end.',
    },
    [1, 2 ** 20],
  ),
  'shutdown-delay-duration': durationMs({
    group: generic,
    fallback: '0s',
    help: 'After a signal to stop: how long to serve on while /readyz already fails, so that load balancers notice.',
  }),
  'delete-collection-workers': integer(
    { group: generic, fallback: '1', help: 'How many objects of a collection are deleted at a time.' },
    [1, 1000],
  ),
  controllers: list({
    group: generic,
    fallback: '*',
    help: 'Controllers to run: * for all, name for one, -name for all but one. There are garbage-collector, namespace-controller.',
  }),
  'etcd-servers': list({ group: etcd, fallback: 'http://127.0.0.1:2379', help: 'The members of the etcd cluster.' }),
  'etcd-prefix': path({ group: etcd, fallback: '/registry', help: 'What all keys in etcd begin with.' }),
  'etcd-cafile': path({ group: etcd, fallback: '', help: 'Certificate authority of the etcd members.' }),
  'etcd-certfile': path({ group: etcd, fallback: '', help: 'Client certificate for etcd.' }),
  'etcd-keyfile': path({ group: etcd, fallback: '', help: 'Key of the client certificate for etcd.' }),
  'etcd-election-timeout': durationMs({
    group: etcd,
    fallback: '1s',
    help: "The election timeout that etcd's members run with; waiting for etcd is measured in it.",
  }),
  'etcd-compaction-interval': durationMs({
    group: etcd,
    fallback: '5m0s',
    help: 'How much history is kept at least; 0 leaves compaction to others.',
  }),
  'encryption-provider-config': path({
    group: etcd,
    fallback: '',
    help: 'An EncryptionConfiguration: how which resources are stored. Without it they are stored as they are.',
  }),
  'encryption-provider-config-automatic-reload': flagSwitch({
    group: etcd,
    help: 'Take a changed --encryption-provider-config into service without a restart.',
  }),
  'event-ttl': durationMs({
    group: etcd,
    fallback: '1h0m0s',
    help: 'How long events are kept after their last write.',
  }),
  'bind-address': text({ group: serving, fallback: '0.0.0.0', help: 'The address to listen on.' }, 'ip'),
  'secure-port': integer(
    { group: serving, fallback: '6443', help: 'The port for HTTPS; 0 lets the system choose.' },
    [0, 65_535],
  ),
  'cert-dir': path({
    group: serving,
    fallback: 'certificates',
    help: 'Where a self-signed certificate is kept when none is given.',
  }),
  'tls-cert-file': path({
    group: serving,
    fallback: '',
    help: 'Certificate chain to serve with. It is read again when the file changes.',
  }),
  'tls-private-key-file': path({ group: serving, fallback: '', help: 'Key of --tls-cert-file.' }),
  'token-auth-file': path({
    group: authentication,
    fallback: '',
    help: 'Static bearer tokens: lines of token,user,uid,"group1,group2".',
  }),
  'enable-admission-plugins': list({
    group: admission,
    fallback: '',
    help: 'Admission plugins to switch on besides the defaults. There are NamespaceAutoProvision (on: an object brings its namespace along) and in its place NamespaceLifecycle (off: an object needs a namespace that is there).',
  }),
  'disable-admission-plugins': list({
    group: admission,
    fallback: '',
    help: 'Admission plugins to switch off although they are on by default.',
  }),
  'system-namespaces': list({
    group: admission,
    fallback: 'default,kube-system,kube-public',
    help: 'Namespaces that are made when the server starts, unless they are there.',
  }),
  'feature-gates': pairs({
    group: features,
    fallback: '',
    help: 'What to switch on or off before its time: AllowUnsafeMalformedObjectDeletion (alpha, off), ShardedListAndWatch (alpha, off), AllAlpha, AllBeta.',
  }),
  'logging-format': oneOf<'text' | 'json'>({ group: logs, fallback: 'text', help: 'How log lines are written.' }, [
    'text',
    'json',
  ]),
  v: integer(
    {
      group: logs,
      fallback: '0',
      help: 'How much is logged: 0 what operators need, 2 every request, 4 what helps to find faults.',
    },
    [0, 10],
  ),
  help: flagSwitch({ group: global, help: 'Print this help.' }),
  version: flagSwitch({ group: global, help: 'Print the version.' }),
} satisfies Record<string, Flag<unknown>>;

type Flags = typeof flags;
export type ServerFlags = { readonly [Name in keyof Flags]: Flags[Name] extends Flag<infer T> ? T : never };

/** Everything that is wrong with a command line. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
  }
}

/** Reads `--name value`, `--name=value` and, for switches, `--name`; the last of several counts. */
export function parseFlags(args: readonly string[]): ServerFlags {
  const faults: string[] = [];
  const written = new Map<string, string>();
  for (let i = 0; i < args.length; i++) {
    const match = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(args[i] as string);
    if (!match) {
      faults.push(`unexpected argument: ${args[i]}`);
      continue;
    }
    const name = match[1] as string;
    if (!isFlag(name)) faults.push(unknownFlag(name));
    else if (match[2] !== undefined) written.set(name, match[2]);
    else if (flags[name].placeholder === undefined) written.set(name, 'true');
    else if (i + 1 < args.length) written.set(name, args[++i] as string);
    else faults.push(`--${name} needs a value`);
  }
  const values = Object.entries<Flag<unknown>>(flags).map(([name, flag]) => {
    const given = written.get(name) ?? flag.fallback;
    const value = flag.read(given);
    if (value === undefined) faults.push(`--${name}: ${JSON.stringify(given)} is not ${flag.wanted}`);
    return [name, value];
  });
  if (faults.length > 0) throw new FlagError(faults);
  return Object.fromEntries(values) as ServerFlags; // each value was read by its own flag
}

const isFlag = (name: string): name is keyof Flags => Object.hasOwn(flags, name);

function unknownFlag(name: string): string {
  const nearest = nearestName(name, Object.keys(flags));
  return `unknown flag: --${name}${nearest ? `; did you mean --${nearest}?` : ''}`;
}

/** The help, by groups, in the order of their first flags. */
export function flagHelp(): string {
  const lines = ['cluster-apiserver serves the API of a cluster from etcd.', ''];
  for (const [group, members] of Map.groupBy(Object.entries<Flag<unknown>>(flags), ([, flag]) => flag.group)) {
    lines.push(`${group}:`, '');
    for (const [name, { placeholder, fallback, help }] of members) {
      lines.push(
        `      --${name}${placeholder ? ` ${placeholder}` : ''}`,
        `                ${help}${fallback && fallback !== 'false' ? ` (default ${fallback})` : ''}`,
      );
    }
    lines.push('');
  }
  return lines.join('\n');
}
