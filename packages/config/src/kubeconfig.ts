import { isJsonObject } from '@cluster-apiserver/model/json';
import type { Path, Problems } from '@cluster-apiserver/model';
import { any, boolean, bytes, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { type Findings, loadBy } from './findings.ts';
import { defineConfigurationKind, parseContent, readEmbedded } from './load.ts';
import { checkedString, list, optional, required } from './schema.ts';

/** Address and credentials of an external server, such as a webhook. */
export interface Kubeconfig {
  readonly server: URL;
  /** TLS server name, if it differs from the host of the URL. */
  readonly tlsServerName: string | undefined;
  /** The CAs of the system are trusted if undefined. */
  readonly certificateAuthority: Content | undefined;
  readonly clientCertificate: Content | undefined;
  readonly clientKey: Content | undefined;
  readonly token: Content | undefined;
}

/** Inline data, or the path of a file; `path` is that of the node, for problems. */
export type Content = ({ readonly data: Buffer } | { readonly file: string }) & { readonly path: Path };

/** The message does not repeat the URL: it may contain a password. */
const serverUrl = checkedString((value, at) => {
  const url = URL.parse(value);
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '')
    at.report('expected a URL with https, without a user or a password');
});
const extensions = optional(any, 'Ignored.');
const clusterSchema = object({
  server: required(serverUrl, 'URL of the server, with https.'),
  'tls-server-name': optional(string, 'Name of the server in its certificate, if it is not that of the URL.'),
  'certificate-authority': optional(string, 'File with the certificates in PEM that are trusted.'),
  'certificate-authority-data': optional(
    bytes,
    'The same certificates in base64. Those of the system are trusted by default.',
  ),
  'insecure-skip-tls-verify': optional(boolean, 'Must be false.'),
  'disable-compression': optional(boolean, 'Ignored.'),
  extensions,
});
const userSchema = object({
  'client-certificate': optional(string, 'File with the client certificate in PEM.'),
  'client-certificate-data': optional(bytes, 'The client certificate in base64.'),
  'client-key': optional(string, 'File with the key of the client certificate in PEM.'),
  'client-key-data': optional(bytes, 'The key of the client certificate in base64.'),
  token: optional(string, 'Bearer token.'),
  tokenFile: optional(string, 'File with a bearer token. It takes precedence over `token`.'),
  extensions,
});
const contextSchema = object({
  cluster: required(string, 'Name of a cluster.'),
  user: optional(string, 'Name of a user. Without one no credentials are sent.'),
  namespace: optional(string, 'Ignored.'),
  extensions,
});
const name = optional(string, 'Name that others refer to.');

export const kubeconfigKind = defineConfigurationKind({
  kind: 'Config',
  groups: [''],
  versions: ['v1'],
  description:
    'A kubeconfig: where a webhook is, and with which credentials it is called. Only the current context is used.',
  fields: {
    preferences: optional(any, 'Ignored.'),
    extensions,
    clusters: required(
      list(
        object({
          name,
          cluster: optional(clusterSchema, 'Address of the server, and how its certificate is verified.'),
        }),
      ),
      'Servers.',
    ),
    users: optional(list(object({ name, user: optional(userSchema, 'Credentials.') })), 'Credentials.'),
    contexts: required(
      list(object({ name, context: optional(contextSchema, 'A server with credentials for it.') })),
      'Contexts.',
    ),
    'current-context': required(string, 'Name of the context that is used.'),
  },
});

/** Throws a ConfigurationError with all problems. */
export const loadKubeconfig = (file: string): Kubeconfig => loadBy(readKubeconfig, file);

/**
 * Reads the current context, and adds problems to `findings`. Features that this server does not support are problems:
 * exec plugins, auth providers and skipping TLS verification.
 */
export function readKubeconfig(file: string, findings: Findings): Kubeconfig {
  return readEmbedded(
    kubeconfigKind,
    ({ clusters, users = [], contexts, 'current-context': current }, at) => {
      const context = indexOfNamed(contexts, current, 'context', at.at('current-context'));
      const { cluster = '', user = '' } = contexts[context]?.context ?? {};
      const place = at.at('contexts', context, 'context');
      const server = context < 0 ? -1 : indexOfNamed(clusters, cluster, 'cluster', place.at('cluster'));
      const credentials = user === '' ? -1 : indexOfNamed(users, user, 'user', place.at('user'));
      return {
        ...readCluster(clusters[server]?.cluster, at.at('clusters', server, 'cluster')),
        ...readUser(users[credentials]?.user, at.at('users', credentials, 'user')),
      };
    },
    keepUsed(parseContent(file, findings)),
    [],
    findings,
  );
}

/** Empties entries of other contexts: they may use unsupported features. Entries keep their index, for problems. */
function keepUsed(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const { contexts, clusters, users, 'current-context': current } = value;
  const context = Array.isArray(contexts)
    ? contexts.find((one) => isJsonObject(one) && one['name'] === current)
    : undefined;
  const used = isJsonObject(context) && isJsonObject(context['context']) ? context['context'] : {};
  return {
    ...value,
    contexts: keepNamed(contexts, current),
    clusters: keepNamed(clusters, used['cluster']),
    users: keepNamed(users, used['user']),
  };
}

const keepNamed = (members: unknown, used: unknown): unknown =>
  Array.isArray(members)
    ? members.map((one: unknown) => (isJsonObject(one) && one['name'] !== used ? { name: one['name'] } : one))
    : members;

/** The entry of a list by the name that another value refers to; -1 if there is none. */
function indexOfNamed(
  entries: readonly { readonly name?: string }[],
  wanted: string,
  what: string,
  reference: Problems,
): number {
  const index = entries.findIndex((entry) => entry.name === wanted);
  if (index < 0) reference.report(`there is no ${what} of this name`);
  return index;
}

function readCluster(
  cluster: ValueOf<typeof clusterSchema> | undefined,
  at: Problems,
): Pick<Kubeconfig, 'server' | 'tlsServerName' | 'certificateAuthority'> {
  if (cluster?.['insecure-skip-tls-verify'])
    at.at('insecure-skip-tls-verify').report('any server would be trusted and would receive every request');
  return {
    server: URL.parse(cluster?.server ?? '') ?? refusedUrl,
    tlsServerName: cluster?.['tls-server-name'] || undefined,
    certificateAuthority: readContent(cluster, 'certificate-authority', at),
  };
}

/** Stands for one that was reported. */
const refusedUrl = new URL('https://invalid');

function readUser(
  user: ValueOf<typeof userSchema> | undefined,
  at: Problems,
): Pick<Kubeconfig, 'clientCertificate' | 'clientKey' | 'token'> {
  const clientCertificate = readContent(user, 'client-certificate', at);
  const clientKey = readContent(user, 'client-key', at);
  if (!clientCertificate !== !clientKey) at.report('a client certificate and its key go together');
  const { token, tokenFile } = user ?? {};
  return {
    clientCertificate,
    clientKey,
    // As in client-go: a file with rotated tokens wins over the token that one began with.
    token: tokenFile
      ? { file: tokenFile, path: at.at('tokenFile').path }
      : token
        ? { data: Buffer.from(token), path: at.at('token').path }
        : undefined,
  };
}

/** Inline data takes precedence over a file. */
function readContent<Field extends string>(
  values: { readonly [Name in Field | `${Field}-data`]?: string } | undefined,
  field: Field,
  at: Problems,
): Content | undefined {
  const [file, data] = [values?.[field], values?.[`${field}-data`]];
  if (data) return { data: Buffer.from(data, 'base64'), path: at.at(`${field}-data`).path };
  return file ? { file, path: at.at(field).path } : undefined;
}
