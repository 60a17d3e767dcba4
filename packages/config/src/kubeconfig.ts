import type { Path } from '@cluster-apiserver/model';
import { decodeBase64 } from '@cluster-apiserver/model/schema';
import { Findings } from './findings.ts';
import { declareKind, parseText, readEmbedded, requireContent } from './load.ts';
import { anything, boolean, list, object, string } from './schema.ts';
import type { ConfigNode } from './config-node.ts';

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

const extensions = anything('Ignored.');
const clusterSchema = object(
  'Address of the server, and how its certificate is verified.',
  {
    server: string('URL of the server, with https.'),
    'tls-server-name': string('Name of the server in its certificate, if it is not that of the URL.'),
    'certificate-authority': string('File with the certificates in PEM that are trusted.'),
    'certificate-authority-data': string(
      'The same certificates in base64. Those of the system are trusted by default.',
    ),
    'insecure-skip-tls-verify': boolean('Must be false.'),
    'disable-compression': boolean('Ignored.'),
    extensions,
  },
  { required: ['server'] },
);
const userSchema = object('Credentials.', {
  'client-certificate': string('File with the client certificate in PEM.'),
  'client-certificate-data': string('The client certificate in base64.'),
  'client-key': string('File with the key of the client certificate in PEM.'),
  'client-key-data': string('The key of the client certificate in base64.'),
  token: string('Bearer token.'),
  tokenFile: string('File with a bearer token. It takes precedence over `token`.'),
  extensions,
});
const contextSchema = object(
  'A server with credentials for it.',
  {
    cluster: string('Name of a cluster.'),
    user: string('Name of a user. Without one no credentials are sent.'),
    namespace: string('Ignored.'),
    extensions,
  },
  { required: ['cluster'] },
);
const name = string('Name that others refer to.');
const fields = {
  preferences: anything('Ignored.'),
  extensions,
  clusters: list('Servers.', object('One server.', { name, cluster: clusterSchema })),
  users: list('Credentials.', object('One user.', { name, user: userSchema })),
  contexts: list('Contexts.', object('One context.', { name, context: contextSchema })),
  'current-context': string('Name of the context that is used.'),
};

export const kubeconfigKind = declareKind({
  kind: 'Config',
  groups: [''],
  versions: ['v1'],
  description:
    'A kubeconfig: where a webhook is, and with which credentials it is called. Only the current context is used.',
  fields,
  required: ['clusters', 'contexts', 'current-context'],
});

/**
 * Reads the current context. Features that this server does not support are problems: exec plugins, auth providers and
 * skipping TLS verification. Throws a ConfigurationError with all problems.
 */
export function loadKubeconfig(text: string): Kubeconfig {
  const findings = new Findings(text);
  const kubeconfig = readKubeconfig(text, findings);
  findings.requireNoProblems();
  return kubeconfig;
}

/** Adds problems to `findings` instead of throwing. */
export function readKubeconfig(text: string, findings: Findings): Kubeconfig {
  const value = requireContent(parseText(text, findings), findings);
  return readEmbedded(
    kubeconfigKind,
    ({ clusters, users, contexts, 'current-context': current }) => {
      const all = contexts.items().map((item) => item.fields());
      const context = findNamed(current, 'context', all)?.context.fields();
      const servers = clusters.items().map((item) => item.fields());
      const credentials = users.items().map((item) => item.fields());
      return {
        ...readCluster(context && findNamed(context.cluster, 'cluster', servers)?.cluster),
        ...readUser(context && !context.user.isAbsent ? findNamed(context.user, 'user', credentials)?.user : undefined),
      };
    },
    keepUsed(value),
    [],
    findings,
  );
}

/** Empties entries of other contexts: they may use unsupported features. Entries keep their index, for problems. */
function keepUsed(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { contexts, clusters, users, 'current-context': current } = value;
  const context = Array.isArray(contexts)
    ? contexts.find((one) => isObject(one) && one['name'] === current)
    : undefined;
  const of = isObject(context) && isObject(context['context']) ? context['context'] : {};
  return {
    ...value,
    contexts: keepNamed(contexts, current),
    clusters: keepNamed(clusters, of['cluster']),
    users: keepNamed(users, of['user']),
  };
}

const keepNamed = (members: unknown, used: unknown): unknown =>
  Array.isArray(members)
    ? members.map((one: unknown) => (isObject(one) && one['name'] !== used ? { name: one['name'] } : one))
    : members;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A missing cluster has already been reported; the placeholder is never used. */
function readCluster(
  cluster: ConfigNode<typeof clusterSchema> | undefined,
): Pick<Kubeconfig, 'server' | 'tlsServerName' | 'certificateAuthority'> {
  if (!cluster) return { server: placeholderUrl, tlsServerName: undefined, certificateAuthority: undefined };
  const {
    server,
    'tls-server-name': tlsServerName,
    'certificate-authority': file,
    'certificate-authority-data': data,
    'insecure-skip-tls-verify': insecure,
  } = cluster.fields();
  if (insecure.boolean()) insecure.addProblem('any server would be trusted and would receive every request');
  return {
    server: readServerUrl(server),
    tlsServerName: tlsServerName.string() || undefined,
    certificateAuthority: readContent(file, data),
  };
}

function readUser(
  user: ConfigNode<typeof userSchema> | undefined,
): Pick<Kubeconfig, 'clientCertificate' | 'clientKey' | 'token'> {
  if (!user) return { clientCertificate: undefined, clientKey: undefined, token: undefined };
  const {
    'client-certificate': certificateFile,
    'client-certificate-data': certificateData,
    'client-key': keyFile,
    'client-key-data': keyData,
    token,
    tokenFile,
  } = user.fields();
  const inline = token.string();
  const clientCertificate = readContent(certificateFile, certificateData);
  const clientKey = readContent(keyFile, keyData);
  if (!clientCertificate !== !clientKey) user.addProblem('a client certificate and its key go together');
  return {
    clientCertificate,
    clientKey,
    // As in client-go: a file with rotated tokens wins over the token that one began with.
    token: readContent(tokenFile) ?? (inline ? { data: Buffer.from(inline), path: token.path } : undefined),
  };
}

/** Finds the entry of a list by the name that another node refers to. */
function findNamed<Member extends { readonly name: ConfigNode }>(
  reference: ConfigNode,
  what: string,
  members: readonly Member[],
): Member | undefined {
  const wanted = reference.string() ?? '';
  if (wanted === '') reference.addRequired();
  const found = members.find((member) => member.name.string() === wanted);
  if (!found && wanted !== '') reference.addProblem(`there is no ${what} of this name`);
  return found;
}

/** Inline data takes precedence over a file. */
function readContent(file: ConfigNode, data?: ConfigNode): Content | undefined {
  const bytes = data && readBase64(data);
  if (bytes) return { data: bytes, path: data.path };
  const fileName = file.string();
  return fileName ? { file: fileName, path: file.path } : undefined;
}

function readBase64(node: ConfigNode): Buffer | undefined {
  const text = node.string();
  if (!text) return undefined;
  const bytes = decodeBase64(text.trim());
  if (!bytes) node.addProblem('it is no base64');
  return bytes ?? Buffer.alloc(0);
}

const placeholderUrl = new URL('https://invalid');

function readServerUrl(node: ConfigNode): URL {
  const url = URL.parse(node.string() ?? '');
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url;
  // The message must not repeat the URL: it may contain a password.
  node.addProblem('expected a URL with https, without a user or a password');
  return placeholderUrl;
}
