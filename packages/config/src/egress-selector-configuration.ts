import type { Path } from '@cluster-apiserver/model';
import { Findings } from './findings.ts';
import { declareKind, readConfiguration } from './load.ts';
import { list, object, string } from './schema.ts';
import type { ConfigNode } from './config-node.ts';

/** The proxy for each network; undefined for direct connections. */
export type EgressConfiguration = ReadonlyMap<string, EgressProxy | undefined>;

/** An HTTP CONNECT proxy. */
export type EgressProxy = { readonly socket: string } | { readonly url: URL; readonly tls: EgressTls | undefined };

/** Paths of the TLS files; the CAs of the system are trusted if `caBundle` is undefined. */
export interface EgressTls {
  /** Path of the node that names them, for problems. */
  readonly path: Path;
  readonly caBundle: string | undefined;
  readonly clientCert: string;
  readonly clientKey: string;
}

/** kube-apiserver also has `etcd`. It is refused here because connections to etcd never use a proxy. */
const directions = ['cluster', 'controlplane'];

const tlsSchema = object(
  'Credentials for a proxy with https.',
  {
    caBundle: string('File with the certificates in PEM that are trusted. Those of the system are by default.'),
    clientCert: string('File with the client certificate in PEM.'),
    clientKey: string('File with the key of the client certificate in PEM.'),
  },
  { required: ['clientCert', 'clientKey'] },
);
const tcpSchema = object(
  'Proxy behind a TCP port.',
  { url: string('URL of the proxy, http or https, such as `https://proxy:8131`.'), tlsConfig: tlsSchema },
  { required: ['url'] },
);
const udsSchema = object(
  'Proxy behind a Unix socket.',
  { udsName: string('Absolute path of the socket.') },
  { required: ['udsName'] },
);
const transportSchema = object('Where the proxy is: set either `tcp` or `uds`.', { tcp: tcpSchema, uds: udsSchema });
const connectionSchema = object(
  'How it is reached.',
  {
    proxyProtocol: string('`Direct` for no proxy.', { enum: ['Direct', 'HTTPConnect'] }),
    transport: transportSchema,
  },
  { required: ['proxyProtocol'] },
);
const selectionsSchema = list(
  'Networks, each once.',
  object(
    'One network.',
    { name: string('`cluster` or `controlplane`, in letters of any case.'), connection: connectionSchema },
    { required: ['name', 'connection'] },
  ),
);

export const egressSelectorKind = declareKind({
  kind: 'EgressSelectorConfiguration',
  groups: ['apiserver.config.platform.io', 'apiserver.k8s.io'],
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  description: 'Proxies through which issuers of tokens are reached.',
  fields: { egressSelections: selectionsSchema },
});

/** Throws a ConfigurationError with all problems. */
export function loadEgressSelectorConfiguration(text: string): EgressConfiguration {
  const findings = new Findings(text);
  const configuration = readEgressSelectorConfiguration(text, findings);
  findings.requireNoProblems();
  return configuration;
}

/** Adds problems to `findings` instead of throwing. */
export const readEgressSelectorConfiguration = (text: string, findings: Findings): EgressConfiguration =>
  readConfiguration(egressSelectorKind, ({ egressSelections }) => readSelections(egressSelections), text, findings);

function readSelections(node: ConfigNode<typeof selectionsSchema>): EgressConfiguration {
  const read = new Map<string, EgressProxy | undefined>();
  for (const item of node.items()) {
    const { name, connection } = item.fields();
    const direction = name.string()?.toLowerCase() ?? '';
    if (!directions.includes(direction)) name.addInvalid(direction, `expected ${directions.join(' or ')}`);
    if (read.has(direction)) name.addProblem(`Duplicate value: ${JSON.stringify(direction)}`);
    read.set(direction, readConnection(connection));
  }
  return read;
}

function readConnection(node: ConfigNode<typeof connectionSchema>): EgressProxy | undefined {
  const { proxyProtocol, transport } = node.fields();
  const protocol = proxyProtocol.string() ?? '';
  if (protocol === 'HTTPConnect') return readTransport(transport);
  if (protocol !== 'Direct') proxyProtocol.addInvalid(protocol, 'expected Direct or HTTPConnect');
  else if (!transport.isAbsent) transport.addProblem('must not be set for Direct');
  return undefined;
}

function readTransport(node: ConfigNode<typeof transportSchema>): EgressProxy | undefined {
  const { tcp, uds } = node.fields();
  if (tcp.isAbsent === uds.isAbsent) {
    node.addProblem('set either tcp or uds for HTTPConnect');
    return undefined;
  }
  return tcp.isAbsent ? readSocket(uds) : readTcp(tcp);
}

function readSocket(node: ConfigNode<typeof udsSchema>): EgressProxy | undefined {
  const { udsName } = node.fields();
  const socket = udsName.string() ?? '';
  if (!socket.startsWith('/')) udsName.addInvalid(socket, 'expected the absolute path of a Unix socket');
  return { socket };
}

function readTcp(node: ConfigNode<typeof tcpSchema>): EgressProxy | undefined {
  const { url: place, tlsConfig } = node.fields();
  const text = place.string() ?? '';
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    // The message must not repeat the URL: it may contain a password.
    place.addProblem('expected a URL such as https://proxy:8131, without a user or a password');
    return undefined;
  }
  if (url.protocol === 'https:') return { url, tls: readTls(tlsConfig) };
  if (!tlsConfig.isAbsent) tlsConfig.addProblem('must not be set for a URL with http');
  return { url, tls: undefined };
}

function readTls(node: ConfigNode<typeof tlsSchema>): EgressTls {
  if (node.isAbsent) node.addRequired('it is needed for a URL with https');
  const { caBundle, clientCert, clientKey } = node.fields();
  const needed = (file: ConfigNode): string => {
    const name = file.string() ?? '';
    if (name === '' && !node.isAbsent) file.addRequired('the name of a file');
    return name;
  };
  return {
    path: node.path,
    caBundle: caBundle.string() || undefined,
    clientCert: needed(clientCert),
    clientKey: needed(clientKey),
  };
}
