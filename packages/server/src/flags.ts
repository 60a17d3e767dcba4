import { nearestName, parseDuration } from '@cluster-apiserver/base';
import { etcdTransports } from '@cluster-apiserver/storage';

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
  /** What several of them mean; without it the last counts. */
  join?(values: readonly T[]): T;
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
const fraction = (flag: Described<number>, [least, most]: readonly [number, number]): Flag<number> => ({
  ...flag,
  placeholder: 'float',
  read: (value) =>
    /^[0-9]*\.?[0-9]+$/.test(value) && Number(value) >= least && Number(value) <= most ? Number(value) : undefined,
  wanted: `a number from ${least} to ${most}`,
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
  join: (lists) => lists.flat(),
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
  join: joinMaps,
});
/** One pair, whose value may hold commas; several flags give several. */
const pair = (flag: Described<ReadonlyMap<string, string>>): Flag<ReadonlyMap<string, string>> => ({
  ...flag,
  placeholder: 'name=value',
  read: (value) => {
    if (value === '') return new Map();
    const [, name, given] = /^([^=]+)=(.*)$/s.exec(value) ?? [];
    return name === undefined || given === undefined ? undefined : new Map([[name.trim(), given]]);
  },
  wanted: 'a pair such as name=value',
  join: joinMaps,
});
const joinMaps = (maps: readonly ReadonlyMap<string, string>[]): ReadonlyMap<string, string> =>
  new Map(maps.flatMap((map) => [...map]));
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

/** A switch that can be left alone, where that says something else than off. */
const openSwitch = (flag: Omit<Described<boolean>, 'fallback'>): Flag<boolean | 'unset'> => ({
  ...flag,
  fallback: '',
  read: (value) => (value === '' ? 'unset' : value === 'true' ? true : value === 'false' ? false : undefined),
  wanted: 'true or false',
});

const generic = 'Generic flags';
const etcd = 'Etcd flags';
const serving = 'Secure serving flags';
const authentication = 'Authentication flags';
const authorization = 'Authorization flags';
const admission = 'Admission flags';
const features = 'Features flags';
const logs = 'Logs flags';
const traces = 'Traces flags';
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
  'max-requests-inflight': integer(
    {
      group: generic,
      fallback: '400',
      help: 'Maximum number of non-mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    },
    [0, 2 ** 20],
  ),
  'max-mutating-requests-inflight': integer(
    {
      group: generic,
      fallback: '200',
      help: 'Maximum number of mutating requests in flight; further ones are rejected with 429. 0 for no limit.',
    },
    [0, 2 ** 20],
  ),
  'max-watches-per-user': integer(
    {
      group: generic,
      fallback: '10000',
      help: 'Maximum number of watches a user may have open on this server; requests above it are rejected with 429. 0 for no limit. Members of system:masters are exempt.',
    },
    [0, 2 ** 31 - 1],
  ),
  'cors-allowed-origins': list({
    group: generic,
    fallback: '',
    help: 'Regular expressions of allowed origins, such as //board\\.example(:|$): their pages may read responses, write and open WebSockets. Pages of the requested host may always write and open WebSockets.',
  }),
  'goaway-chance': fraction(
    {
      group: generic,
      fallback: '0',
      help: 'How likely an HTTP/2 request makes its client open the next ones on a new connection, so that a load balancer can choose anew; 0.001 is a good beginning with several replicas.',
    },
    [0, 0.02],
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
    help: 'Controllers to run: * for all, name for one, -name for all but one. There are garbage-collector, namespace-controller, clusterrole-aggregation-controller.',
  }),
  'etcd-servers': list({ group: etcd, fallback: 'http://127.0.0.1:2379', help: 'The members of the etcd cluster.' }),
  'etcd-prefix': path({ group: etcd, fallback: '/registry', help: 'What all keys in etcd begin with.' }),
  'etcd-cafile': path({ group: etcd, fallback: '', help: 'Certificate authority of the etcd members.' }),
  'etcd-certfile': path({ group: etcd, fallback: '', help: 'Client certificate for etcd.' }),
  'etcd-keyfile': path({ group: etcd, fallback: '', help: 'Key of the client certificate for etcd.' }),
  'etcd-transport': oneOf<(typeof etcdTransports)[number]>(
    {
      group: etcd,
      fallback: 'native',
      help: "HTTP/2 implementation for connections to etcd: the server's own, or Node's, which is slower, for emergencies.",
    },
    etcdTransports,
  ),
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
    help: 'Time to retain events after their last update; 0 retains them until they are deleted.',
  }),
  'bind-address': text({ group: serving, fallback: '0.0.0.0', help: 'The address to listen on.' }, 'ip'),
  'secure-port': integer(
    { group: serving, fallback: '6443', help: 'The port for HTTPS; 0 lets the system choose.' },
    [0, 65_535],
  ),
  'http2-max-streams-per-connection': integer(
    {
      group: serving,
      fallback: '0',
      help: 'Requests that a client may have open on one HTTP/2 connection; 0 for 100.',
    },
    [0, 2 ** 31 - 1],
  ),
  'max-connections-per-peer': integer(
    {
      group: serving,
      fallback: '0',
      help: 'Maximum number of connections that one client address may have open; 0 is no limit. Clients behind one load balancer or NAT share an address.',
    },
    [0, 20_000],
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
  'client-ca-file': path({
    group: authentication,
    fallback: '',
    help: 'Authorities of client certificates: the common name is the user, each organization a group. It is read again when it changes.',
  }),
  'requestheader-client-ca-file': path({
    group: authentication,
    fallback: '',
    help: 'Authorities of front proxies, whose headers are believed. It is read again when it changes.',
  }),
  'requestheader-allowed-names': list({
    group: authentication,
    fallback: '',
    help: 'Common names that the certificates of front proxies have; empty means any.',
  }),
  'requestheader-username-headers': list({
    group: authentication,
    fallback: 'X-Remote-User',
    help: 'Headers in which a front proxy names the user. The first that is there counts.',
  }),
  'requestheader-uid-headers': list({
    group: authentication,
    fallback: 'X-Remote-Uid',
    help: "Headers in which it names the user's UID. The first that is there counts.",
  }),
  'requestheader-group-headers': list({
    group: authentication,
    fallback: 'X-Remote-Group',
    help: 'Headers in which it names a group of the user, each in a line of its own.',
  }),
  'requestheader-extra-headers-prefix': list({
    group: authentication,
    fallback: 'X-Remote-Extra-',
    help: 'What the headers begin with that hold whatever else it knows of the user.',
  }),
  'token-auth-file': path({
    group: authentication,
    fallback: '',
    help: 'Static bearer tokens: lines of token,user,uid,"group1,group2".',
  }),
  'authentication-token-webhook-config-file': path({
    group: authentication,
    fallback: '',
    help: 'A kubeconfig that says whom to ask about tokens that nobody here knows, and with which credentials.',
  }),
  'authentication-token-webhook-version': oneOf<'v1beta1' | 'v1'>(
    { group: authentication, fallback: 'v1beta1', help: 'The version of TokenReview that it is asked with.' },
    ['v1beta1', 'v1'],
  ),
  'authentication-token-webhook-cache-ttl': durationMs({
    group: authentication,
    fallback: '2m0s',
    help: 'How long its answers are remembered; 0 to ask each time.',
  }),
  'authentication-config': path({
    group: authentication,
    fallback: '',
    help: 'An AuthenticationConfiguration: whose signed tokens are believed, and what needs none. It is read again when it changes.',
  }),
  'anonymous-auth': openSwitch({
    group: authentication,
    help: 'Let requests without any credential come in as system:anonymous, of the group system:unauthenticated. Not together with anonymous in --authentication-config.',
  }),
  'egress-selector-config-file': path({
    group: authentication,
    fallback: '',
    help: 'An EgressSelectorConfiguration: through which proxies issuers of --authentication-config are reached.',
  }),
  'oidc-issuer-url': text(
    {
      group: authentication,
      fallback: '',
      help: 'The one issuer whose signed tokens are believed, with https. Not together with --authentication-config.',
    },
    'url',
  ),
  'oidc-client-id': text({ group: authentication, fallback: '', help: 'The audience that its tokens must be for.' }),
  'oidc-ca-file': path({
    group: authentication,
    fallback: '',
    help: "The issuer's certificate authority; without it those of the system are trusted.",
  }),
  'oidc-username-claim': text({ group: authentication, fallback: 'sub', help: 'The claim that is the user name.' }),
  'oidc-username-prefix': text({
    group: authentication,
    fallback: '',
    help: 'What user names begin with; - for nothing. Without it, the issuer and a #, but nothing for the claim email.',
  }),
  'oidc-groups-claim': text({ group: authentication, fallback: '', help: "The claim that holds the user's groups." }),
  'oidc-groups-prefix': text({ group: authentication, fallback: '', help: 'What names of groups begin with.' }),
  'oidc-required-claim': pair({
    group: authentication,
    fallback: '',
    help: 'A claim that a token must have, and its value. Give the flag several times for several claims.',
  }),
  'oidc-signing-algs': list({
    group: authentication,
    fallback: 'RS256',
    help: 'What tokens may be signed with: RS, ES and PS with 256, 384 or 512, EdDSA.',
  }),
  'service-account-issuer': list({
    group: authentication,
    fallback: '',
    help: 'Who the tokens of service accounts say that they are of, best an https URL. Of several the first one issues, and all are believed. Without it there are no such tokens.',
  }),
  'service-account-signing-key-file': path({
    group: authentication,
    fallback: '',
    help: 'The private key, RSA or EC as PEM, that signs the tokens of service accounts. It is read again when the file changes.',
  }),
  'service-account-key-file': list({
    group: authentication,
    fallback: '',
    help: 'Further keys whose tokens are believed, RSA or EC as PEM, public or private. They are read again when a file changes.',
  }),
  'service-account-max-token-expiration': durationMs({
    group: authentication,
    fallback: '0s',
    help: 'The longest that a token of a service account lives, at least 1h; who asks for more is given this. 0 for no bound but 2^32 seconds.',
  }),
  'service-account-jwks-uri': text(
    {
      group: authentication,
      fallback: '',
      help: 'Where /.well-known/openid-configuration says that the keys are. Without it, at /openid/v1/jwks below the issuer.',
    },
    'url',
  ),
  'api-audiences': list({
    group: authentication,
    fallback: '',
    help: 'Who this API is: a token is for it when it names one of these. Without it, the issuers of service account tokens.',
  }),
  'authorization-config': path({
    group: authorization,
    fallback: '',
    help: 'AuthorizationConfiguration with the ordered authorizers. Reloaded when it changes. Excludes --authorization-mode and --authorization-webhook-*.',
  }),
  'authorization-mode': list({
    group: authorization,
    fallback: '',
    help: 'Ordered authorizers: RBAC, ABAC, Webhook, AlwaysAllow, AlwaysDeny. Defaults to RBAC unless --authorization-config is set.',
  }),
  'authorization-modes': list({
    group: authorization,
    fallback: '',
    help: 'Another spelling of --authorization-mode.',
  }),
  'authorization-policy-file': path({
    group: authorization,
    fallback: '',
    help: 'Policies of the authorizer ABAC: one Policy in JSON per line. Reloaded when it changes.',
  }),
  'authorization-webhook-config-file': path({
    group: authorization,
    fallback: '',
    help: 'Kubeconfig with the address and the credentials of the authorizer Webhook. Reloaded when it changes.',
  }),
  'authorization-webhook-version': oneOf<'v1beta1' | 'v1'>(
    {
      group: authorization,
      fallback: 'v1beta1',
      help: 'Version of the SubjectAccessReview sent to and expected from the webhook.',
    },
    ['v1beta1', 'v1'],
  ),
  'authorization-webhook-cache-authorized-ttl': durationMs({
    group: authorization,
    fallback: '5m0s',
    help: 'Time to cache authorized responses of the webhook; 0 disables the cache for them.',
  }),
  'authorization-webhook-cache-unauthorized-ttl': durationMs({
    group: authorization,
    fallback: '30s',
    help: 'Time to cache unauthorized responses of the webhook; 0 disables the cache for them.',
  }),
  'authorization-always-allow-paths': list({
    group: authorization,
    fallback: '/healthz,/readyz,/livez',
    help: 'Paths that may be read without authorization; a trailing * matches any rest. Requests without a credential may get them too, unless --anonymous-auth or anonymous in --authentication-config is set.',
  }),
  'admission-control-config-file': path({
    group: admission,
    fallback: '',
    help: 'File with admission control configuration (AdmissionConfiguration), by which plugins are configured.',
  }),
  'enable-admission-plugins': list({
    group: admission,
    fallback: '',
    help: 'Admission plugins to enable in addition to the default ones: NamespaceAutoProvision (replaced by NamespaceLifecycle if that or NamespaceExists is enabled), MutatingAdmissionPolicy, ValidatingAdmissionPolicy. There are also EventRateLimit, OwnerReferencesPermissionEnforcement, AlwaysAdmit and AlwaysDeny. The order does not matter.',
  }),
  'disable-admission-plugins': list({
    group: admission,
    fallback: '',
    help: 'Admission plugins to disable although they are enabled by default.',
  }),
  'admission-webhook-services': pairs({
    group: admission,
    fallback: '',
    help: 'Addresses of services that webhook configurations refer to, each as namespace/name=host:port. Without a port, that of the reference is used. Webhooks of other services fail.',
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
  'tracing-config-file': path({
    group: traces,
    fallback: '',
    help: 'File with tracing configuration (TracingConfiguration). Without it, no request is traced.',
  }),
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

/** Reads `--name value`, `--name=value` and, for switches, `--name`. Several lists are one; of other values the last counts. */
export function parseFlags(args: readonly string[]): ServerFlags {
  const faults: string[] = [];
  const written = new Map<string, string[]>();
  const write = (name: string, value: string): void => void written.set(name, [...(written.get(name) ?? []), value]);
  for (let i = 0; i < args.length; i++) {
    const match = /^--?([A-Za-z][^=]*)(?:=(.*))?$/s.exec(args[i] as string);
    if (!match) {
      faults.push(`unexpected argument: ${args[i]}`);
      continue;
    }
    const name = match[1] as string;
    if (!isFlag(name)) faults.push(unknownFlag(name));
    else if (match[2] !== undefined) write(name, match[2]);
    else if (flags[name].placeholder === undefined) write(name, 'true');
    else if (i + 1 < args.length) write(name, args[++i] as string);
    else faults.push(`--${name} needs a value`);
  }
  const values = Object.entries<Flag<unknown>>(flags).map(([name, flag]) => {
    const given = written.get(name) ?? [flag.fallback];
    const values = given.map((one) => {
      const value = flag.read(one);
      if (value === undefined) faults.push(`--${name}: ${JSON.stringify(one)} is not ${flag.wanted}`);
      return value;
    });
    return [name, flag.join && !values.includes(undefined) ? flag.join(values) : values.at(-1)];
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
