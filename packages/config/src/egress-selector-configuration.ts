import type { Path, Problems } from '@cluster-apiserver/model';
import { object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { type Findings, loadBy } from './findings.ts';
import { defineConfigurationKind, readConfiguration } from './load.ts';
import { checkedString, list, oneOf, optional, required } from './schema.ts';

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
const direction = checkedString((value, at) => {
  const name = value.toLowerCase();
  if (!directions.includes(name)) at.invalid(name, `expected ${directions.join(' or ')}`);
});

const tlsSchema = object({
  caBundle: optional(string, 'File with the certificates in PEM that are trusted. Those of the system are by default.'),
  clientCert: required(string, 'File with the client certificate in PEM.', 'Required value: the name of a file'),
  clientKey: required(
    string,
    'File with the key of the client certificate in PEM.',
    'Required value: the name of a file',
  ),
});
/** The message does not repeat the URL: it may contain a password. */
const proxyUrl = checkedString((value, at) => {
  const url = URL.parse(value);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    at.report('expected a URL such as https://proxy:8131, without a user or a password');
});
const tcpSchema = object({
  url: required(proxyUrl, 'URL of the proxy, http or https, such as `https://proxy:8131`.'),
  tlsConfig: optional(tlsSchema, 'Credentials for a proxy with https.'),
});
const socketPath = checkedString((value, at) => {
  if (!value.startsWith('/')) at.invalid(value, 'expected the absolute path of a Unix socket');
});
const transportSchema = object({
  tcp: optional(tcpSchema, 'Proxy behind a TCP port.'),
  uds: optional(
    object({ udsName: required(socketPath, 'Absolute path of the socket.') }),
    'Proxy behind a Unix socket.',
  ),
});
const connectionSchema = object({
  proxyProtocol: required(oneOf(['Direct', 'HTTPConnect']), '`Direct` for no proxy.'),
  transport: optional(transportSchema, 'Address of the proxy: set either `tcp` or `uds`.'),
});
const selectionSchema = object({
  name: required(direction, '`cluster` or `controlplane`, in letters of any case.'),
  connection: required(connectionSchema, 'Connection to the network.'),
});

export const egressSelectorKind = defineConfigurationKind({
  kind: 'EgressSelectorConfiguration',
  groups: ['apiserver.config.platform.io', 'apiserver.k8s.io'],
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  description: 'Proxies through which issuers of tokens are reached.',
  fields: { egressSelections: optional(list(selectionSchema), 'Networks, each once.') },
});

/** Throws a ConfigurationError with all problems. */
export const loadEgressSelectorConfiguration = (file: string): EgressConfiguration =>
  loadBy(readEgressSelectorConfiguration, file);

/** Adds problems to `findings`. */
export const readEgressSelectorConfiguration = (file: string, findings: Findings): EgressConfiguration =>
  readConfiguration(
    egressSelectorKind,
    ({ egressSelections = [] }, at) => {
      const read = new Map<string, EgressProxy | undefined>();
      at.at('egressSelections').each(egressSelections, ({ name, connection }, selection) => {
        const network = name.toLowerCase();
        if (read.has(network)) selection.at('name').duplicate(network);
        read.set(network, readConnection(connection, selection.at('connection')));
      });
      return read;
    },
    file,
    findings,
  );

function readConnection(
  { proxyProtocol, transport }: ValueOf<typeof connectionSchema>,
  at: Problems,
): EgressProxy | undefined {
  const place = at.at('transport');
  if (proxyProtocol === 'Direct') {
    if (transport) place.report('must not be set for Direct');
    return undefined;
  }
  const { tcp, uds } = transport ?? {};
  if (tcp && !uds) return readTcp(tcp, place.at('tcp'));
  if (uds && !tcp) return { socket: uds.udsName };
  place.report('set either tcp or uds for HTTPConnect');
  return undefined;
}

function readTcp({ url: address, tlsConfig }: ValueOf<typeof tcpSchema>, at: Problems): EgressProxy | undefined {
  const url = URL.parse(address);
  if (!url) return undefined; // already reported
  const place = at.at('tlsConfig');
  const isSecure = url.protocol === 'https:';
  if (isSecure && !tlsConfig) place.required('it is needed for a URL with https');
  if (!isSecure && tlsConfig) place.report('must not be set for a URL with http');
  if (!isSecure || !tlsConfig) return { url, tls: undefined };
  const { caBundle, clientCert, clientKey } = tlsConfig;
  return { url, tls: { path: place.path, caBundle: caBundle || undefined, clientCert, clientKey } };
}
