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
const global = 'Global flags';

const flags = {
  'request-timeout': durationMs({
    group: generic,
    fallback: '1m0s',
    help: 'Maximum duration of a non-watch request.',
  }),
  'min-request-timeout': integer(
    {
      group: generic,
      fallback: '1800',
      help: 'Minimum duration in seconds of a watch without timeoutSeconds; each ends at a random time between this and twice this.',
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
      help: 'Probability that an HTTP/2 request triggers GOAWAY, so that clients reconnect and a load balancer can rebalance. Recommended with several replicas: 0.001.',
    },
    [0, 0.02],
  ),
  'shutdown-delay-duration': durationMs({
    group: generic,
    fallback: '0s',
    help: 'Time to keep serving after a termination signal while /readyz fails, so that load balancers stop sending requests.',
  }),
  'delete-collection-workers': integer(
    { group: generic, fallback: '1', help: 'Number of concurrent deletions per collection delete.' },
    [1, 1000],
  ),
  controllers: list({
    group: generic,
    fallback: '*',
    help: 'Controllers to run: * for all, name for one, -name for all but one. There are garbage-collector, namespace-controller, clusterrole-aggregation-controller.',
  }),
  'etcd-servers': list({ group: etcd, fallback: 'http://127.0.0.1:2379', help: 'URLs of the etcd members.' }),
  'etcd-prefix': path({ group: etcd, fallback: '/registry', help: 'Prefix of all keys in etcd.' }),
  'etcd-cafile': path({ group: etcd, fallback: '', help: 'CA bundle to verify the certificates of the etcd members.' }),
  'etcd-certfile': path({ group: etcd, fallback: '', help: 'Client certificate for connections to etcd.' }),
  'etcd-keyfile': path({ group: etcd, fallback: '', help: 'Private key of --etcd-certfile.' }),
  'etcd-transport': oneOf<(typeof etcdTransports)[number]>(
    {
      group: etcd,
      fallback: 'native',
      help: "HTTP/2 implementation for connections to etcd: the server's own, or that of Node.js, which is slower and a fallback.",
    },
    etcdTransports,
  ),
  'etcd-election-timeout': durationMs({
    group: etcd,
    fallback: '1s',
    help: 'Election timeout of the etcd members (their --election-timeout). Timeouts and retries of calls to etcd are derived from it.',
  }),
  'etcd-compaction-interval': durationMs({
    group: etcd,
    fallback: '5m0s',
    help: 'Interval of compaction requests to etcd, and the history that is retained at least; 0 disables compaction by this server.',
  }),
  'encryption-provider-config': path({
    group: etcd,
    fallback: '',
    help: 'File with the EncryptionConfiguration for encryption at rest. Without it, resources are stored unencrypted.',
  }),
  'encryption-provider-config-automatic-reload': flagSwitch({
    group: etcd,
    help: 'Reload --encryption-provider-config when it changes.',
  }),
  'event-ttl': durationMs({
    group: etcd,
    fallback: '1h0m0s',
    help: 'Time to retain events after their last update; 0 retains them until they are deleted.',
  }),
  'bind-address': text({ group: serving, fallback: '0.0.0.0', help: 'IP address to listen on.' }, 'ip'),
  'secure-port': integer(
    { group: serving, fallback: '6443', help: 'Port to serve HTTPS on; 0 lets the system choose.' },
    [0, 65_535],
  ),
  'http2-max-streams-per-connection': integer(
    {
      group: serving,
      fallback: '0',
      help: 'Maximum number of concurrent streams per HTTP/2 connection; 0 means 100.',
    },
    [0, 2 ** 31 - 1],
  ),
  'max-connections-per-peer': integer(
    {
      group: serving,
      fallback: '0',
      help: 'Maximum number of open connections per client address; 0 for no limit. Clients behind the same load balancer or NAT share an address.',
    },
    [0, 20_000],
  ),
  'cert-dir': path({
    group: serving,
    fallback: 'certificates',
    help: 'Directory of the self-signed certificate that is generated if --tls-cert-file is not set.',
  }),
  'tls-cert-file': path({
    group: serving,
    fallback: '',
    help: 'Serving certificate with its chain, in PEM. Reloaded when it changes.',
  }),
  'tls-private-key-file': path({ group: serving, fallback: '', help: 'Private key of --tls-cert-file.' }),
  'client-ca-file': path({
    group: authentication,
    fallback: '',
    help: 'CA bundle for client certificates: the common name is the user name, organizations are groups. Reloaded when it changes.',
  }),
  'requestheader-client-ca-file': path({
    group: authentication,
    fallback: '',
    help: 'CA bundle for client certificates of front proxies, whose --requestheader-* headers are trusted. Reloaded when it changes.',
  }),
  'requestheader-allowed-names': list({
    group: authentication,
    fallback: '',
    help: 'Allowed common names of front proxy certificates; empty allows all.',
  }),
  'requestheader-username-headers': list({
    group: authentication,
    fallback: 'X-Remote-User',
    help: 'Headers to read the user name from; the first one present is used.',
  }),
  'requestheader-uid-headers': list({
    group: authentication,
    fallback: 'X-Remote-Uid',
    help: 'Headers to read the UID from; the first one present is used.',
  }),
  'requestheader-group-headers': list({
    group: authentication,
    fallback: 'X-Remote-Group',
    help: 'Headers to read groups from, one group per header line.',
  }),
  'requestheader-extra-headers-prefix': list({
    group: authentication,
    fallback: 'X-Remote-Extra-',
    help: 'Prefixes of headers to read extra attributes of the user from.',
  }),
  'token-auth-file': path({
    group: authentication,
    fallback: '',
    help: 'Static bearer tokens: lines of token,user,uid,"group1,group2".',
  }),
  'authentication-token-webhook-config-file': path({
    group: authentication,
    fallback: '',
    help: 'Kubeconfig with the address and the credentials of the token webhook. Reloaded when it changes.',
  }),
  'authentication-token-webhook-version': oneOf<'v1beta1' | 'v1'>(
    { group: authentication, fallback: 'v1beta1', help: 'Version of the TokenReview sent to the webhook.' },
    ['v1beta1', 'v1'],
  ),
  'authentication-token-webhook-cache-ttl': durationMs({
    group: authentication,
    fallback: '2m0s',
    help: 'Time to cache authenticated tokens of the webhook; 0 disables the cache.',
  }),
  'authentication-config': path({
    group: authentication,
    fallback: '',
    help: 'File with the AuthenticationConfiguration: JWT issuers and anonymous requests. Reloaded when it changes.',
  }),
  'anonymous-auth': openSwitch({
    group: authentication,
    help: 'Serve requests without credentials as system:anonymous in the group system:unauthenticated. Excludes anonymous in --authentication-config.',
  }),
  'egress-selector-config-file': path({
    group: authentication,
    fallback: '',
    help: 'File with the EgressSelectorConfiguration: proxies for connections to issuers of --authentication-config.',
  }),
  'oidc-issuer-url': text(
    {
      group: authentication,
      fallback: '',
      help: 'URL of the OpenID issuer, with https. Excludes --authentication-config.',
    },
    'url',
  ),
  'oidc-client-id': text({ group: authentication, fallback: '', help: 'Required audience of ID tokens.' }),
  'oidc-ca-file': path({
    group: authentication,
    fallback: '',
    help: "CA bundle to verify the issuer's certificate. Defaults to the CAs of the system.",
  }),
  'oidc-username-claim': text({ group: authentication, fallback: 'sub', help: 'Claim to use as the user name.' }),
  'oidc-username-prefix': text({
    group: authentication,
    fallback: '',
    help: 'Prefix of user names; - for none. Defaults to the issuer and #, or to none for the claim email.',
  }),
  'oidc-groups-claim': text({ group: authentication, fallback: '', help: 'Claim to use as the groups.' }),
  'oidc-groups-prefix': text({ group: authentication, fallback: '', help: 'Prefix of group names.' }),
  'oidc-required-claim': pair({
    group: authentication,
    fallback: '',
    help: 'Required claim and its value. Can be repeated.',
  }),
  'oidc-signing-algs': list({
    group: authentication,
    fallback: 'RS256',
    help: 'Accepted signing algorithms: RS, ES and PS with 256, 384 or 512, EdDSA.',
  }),
  'service-account-issuer': list({
    group: authentication,
    fallback: '',
    help: 'Issuer (iss) of service account tokens; the first signs, all are accepted. Should be an https URL. Without it, no tokens are issued.',
  }),
  'service-account-signing-key-file': path({
    group: authentication,
    fallback: '',
    help: 'Private key to sign service account tokens with, RSA or EC in PEM. Reloaded when it changes.',
  }),
  'service-account-key-file': list({
    group: authentication,
    fallback: '',
    help: 'Additional keys to verify service account tokens with, public or private, RSA or EC in PEM. Reloaded when they change.',
  }),
  'service-account-max-token-expiration': durationMs({
    group: authentication,
    fallback: '0s',
    help: 'Maximum lifetime of service account tokens, at least 1h; longer requests are shortened to it. 0 for no limit below 2^32 seconds.',
  }),
  'service-account-jwks-uri': text(
    {
      group: authentication,
      fallback: '',
      help: 'URL of the key set in /.well-known/openid-configuration. Defaults to /openid/v1/jwks below the issuer.',
    },
    'url',
  ),
  'api-audiences': list({
    group: authentication,
    fallback: '',
    help: 'Audiences accepted in service account tokens. Defaults to the service account issuers.',
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
    help: 'Alias of --authorization-mode.',
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
    help: 'Paths to allow GET and HEAD on without authorization; a trailing * matches any rest. Also open to requests without credentials unless --anonymous-auth or anonymous in --authentication-config is set.',
  }),
  'admission-control-config-file': path({
    group: admission,
    fallback: '',
    help: 'File with the AdmissionConfiguration, which configures admission plugins.',
  }),
  'enable-admission-plugins': list({
    group: admission,
    fallback: '',
    help: 'Admission plugins to enable in addition to the default ones: NamespaceAutoProvision (replaced by NamespaceLifecycle if that or NamespaceExists is enabled), MutatingAdmissionPolicy, ValidatingAdmissionPolicy. There are also EventRateLimit, OwnerReferencesPermissionEnforcement, AlwaysAdmit and AlwaysDeny. The order does not matter.',
  }),
  'disable-admission-plugins': list({
    group: admission,
    fallback: '',
    help: 'Admission plugins to disable that are enabled by default.',
  }),
  'admission-webhook-services': pairs({
    group: admission,
    fallback: '',
    help: 'Addresses of services that webhook configurations refer to, each as namespace/name=host:port. Without a port, that of the reference is used. Webhooks of other services fail.',
  }),
  'system-namespaces': list({
    group: admission,
    fallback: 'default,kube-system,kube-public',
    help: 'Namespaces to create at startup if they do not exist.',
  }),
  'feature-gates': pairs({
    group: features,
    fallback: '',
    help: 'Feature gates to set: AllowUnsafeMalformedObjectDeletion (alpha, off), ShardedListAndWatch (alpha, off), AllAlpha, AllBeta.',
  }),
  'logging-format': oneOf<'text' | 'json'>({ group: logs, fallback: 'text', help: 'Format of log lines.' }, [
    'text',
    'json',
  ]),
  v: integer(
    {
      group: logs,
      fallback: '0',
      help: 'Log verbosity: 0 for operators, 2 for each request, 4 for debugging.',
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
