import { Findings } from './findings.ts';
import { declareKind, parseText, readEmbedded, requireContent } from './load.ts';
import { anything, boolean, list, object, string } from './schema.ts';
import type { Written } from './written.ts';

/** Where somebody is asked who is not part of the server, and what it takes to be let in there. */
export interface Kubeconfig {
  readonly server: URL;
  /** By which name the server is known, if not by that of its URL. */
  readonly tlsServerName: string | undefined;
  /** Without it, the authorities of the system are trusted. */
  readonly certificateAuthority: Content | undefined;
  readonly clientCertificate: Content | undefined;
  readonly clientKey: Content | undefined;
  readonly token: Content | undefined;
}

/** What stands in the file itself, or in another; `path` is where the file has or names it. */
export type Content = ({ readonly data: Buffer } | { readonly file: string }) & { readonly path: string };

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
  tokenFile: string('File with a bearer token.'),
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
 * Reads the context that the file says is current. What it can say and we do not do is a fault: to run programs, to ask
 * providers, or to believe whoever answers. Throws a ConfigurationError with everything that is wrong.
 */
export function loadKubeconfig(text: string, findings = new Findings(text)): Kubeconfig {
  const value = requireContent(parseText(text, findings), findings);
  const kubeconfig = readEmbedded(
    kubeconfigKind,
    ({ clusters, users, contexts, 'current-context': current }) => {
      const all = contexts.items().map((item) => item.fields());
      const context = find(current, 'context', all)?.context.fields();
      const servers = clusters.items().map((item) => item.fields());
      const credentials = users.items().map((item) => item.fields());
      return {
        ...clusterIn(context && find(context.cluster, 'cluster', servers)?.cluster),
        ...userIn(context && !context.user.absent ? find(context.user, 'user', credentials)?.user : undefined),
      };
    },
    onlyUsed(value),
    '',
    findings,
  );
  findings.requireNoProblems();
  return kubeconfig;
}

/** What other contexts say is not for us: they may well run programs. Members keep their places in the lists. */
function onlyUsed(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { contexts, clusters, users, 'current-context': current } = value;
  const context = Array.isArray(contexts)
    ? contexts.find((one) => isObject(one) && one['name'] === current)
    : undefined;
  const of = isObject(context) && isObject(context['context']) ? context['context'] : {};
  return {
    ...value,
    contexts: onlyNamed(contexts, current),
    clusters: onlyNamed(clusters, of['cluster']),
    users: onlyNamed(users, of['user']),
  };
}

const onlyNamed = (members: unknown, used: unknown): unknown =>
  Array.isArray(members)
    ? members.map((one: unknown) => (isObject(one) && one['name'] !== used ? { name: one['name'] } : one))
    : members;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A cluster that is not there is a fault already, and nobody sees what is said of it here. */
function clusterIn(
  cluster: Written<typeof clusterSchema> | undefined,
): Pick<Kubeconfig, 'server' | 'tlsServerName' | 'certificateAuthority'> {
  if (!cluster) return { server: nowhere, tlsServerName: undefined, certificateAuthority: undefined };
  const {
    server,
    'tls-server-name': tlsServerName,
    'certificate-authority': file,
    'certificate-authority-data': data,
    'insecure-skip-tls-verify': insecure,
  } = cluster.fields();
  if (insecure.fact()) insecure.wrong('whoever answers would be believed, and shown all that is asked');
  return {
    server: urlIn(server),
    tlsServerName: tlsServerName.text() || undefined,
    certificateAuthority: content(file, data),
  };
}

function userIn(
  user: Written<typeof userSchema> | undefined,
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
  const written = token.text();
  const clientCertificate = content(certificateFile, certificateData);
  const clientKey = content(keyFile, keyData);
  if (!clientCertificate !== !clientKey) user.wrong('a client certificate and its key go together');
  return {
    clientCertificate,
    clientKey,
    token: written ? { data: Buffer.from(written), path: token.path } : content(tokenFile),
  };
}

/** The member of a list by the name that another place gives. */
function find<Member extends { readonly name: Written }>(
  name: Written,
  what: string,
  members: readonly Member[],
): Member | undefined {
  const wanted = name.text() ?? '';
  if (wanted === '') name.required();
  const found = members.find((member) => member.name.text() === wanted);
  if (!found && wanted !== '') name.wrong(`there is no ${what} of this name`);
  return found;
}

/** What stands in the file itself counts. */
function content(file: Written, data?: Written): Content | undefined {
  const bytes = data && base64In(data);
  if (bytes) return { data: bytes, path: data.path };
  const fileName = file.text();
  return fileName ? { file: fileName, path: file.path } : undefined;
}

function base64In(written: Written): Buffer | undefined {
  const text = written.text();
  if (!text) return undefined;
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text)) written.wrong('it is no base64');
  return Buffer.from(text, 'base64');
}

const nowhere = new URL('https://invalid');

function urlIn(written: Written): URL {
  const url = URL.parse(written.text() ?? '');
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url;
  // A password is not repeated.
  written.wrong('expected a URL with https, without a user or a password');
  return nowhere;
}
