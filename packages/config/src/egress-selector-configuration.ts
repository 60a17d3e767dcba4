import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { list, object, string } from './schema.ts';
import type { Written } from './written.ts';

/** Through which proxy what lies in which direction is reached; undefined for directly. */
export type EgressConfiguration = ReadonlyMap<string, EgressProxy | undefined>;

/** A proxy that is asked with HTTP CONNECT. */
export type EgressProxy = { readonly socket: string } | { readonly url: URL; readonly tls: EgressTls | undefined };

/** Names of files; without an authority of its own those of the system are trusted. */
export interface EgressTls {
  /** Where the configuration names them. */
  readonly path: string;
  readonly caBundle: string | undefined;
  readonly clientCert: string;
  readonly clientKey: string;
}

/** The reference has `etcd` too. Ours is reached by its own flags, so nobody shall think that it goes through a proxy. */
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

/** Throws a ConfigurationError with everything that is wrong. */
export const loadEgressSelectorConfiguration = (text: string, findings?: Findings): EgressConfiguration =>
  loadConfiguration(egressSelectorKind, ({ egressSelections }) => readSelections(egressSelections), text, findings);

function readSelections(written: Written<typeof selectionsSchema>): EgressConfiguration {
  const read = new Map<string, EgressProxy | undefined>();
  for (const item of written.items()) {
    const { name, connection } = item.fields();
    const direction = name.text()?.toLowerCase() ?? '';
    if (!directions.includes(direction)) name.invalid(direction, `expected ${directions.join(' or ')}`);
    if (read.has(direction)) name.wrong(`Duplicate value: ${JSON.stringify(direction)}`);
    read.set(direction, readConnection(connection));
  }
  return read;
}

function readConnection(written: Written<typeof connectionSchema>): EgressProxy | undefined {
  const { proxyProtocol, transport } = written.fields();
  const protocol = proxyProtocol.text() ?? '';
  if (protocol === 'HTTPConnect') return readTransport(transport);
  if (protocol !== 'Direct') proxyProtocol.invalid(protocol, 'expected Direct or HTTPConnect');
  else if (!transport.absent) transport.wrong('must not be set for Direct');
  return undefined;
}

function readTransport(written: Written<typeof transportSchema>): EgressProxy | undefined {
  const { tcp, uds } = written.fields();
  if (tcp.absent === uds.absent) {
    written.wrong('set either tcp or uds for HTTPConnect');
    return undefined;
  }
  return tcp.absent ? readSocket(uds) : readTcp(tcp);
}

function readSocket(written: Written<typeof udsSchema>): EgressProxy | undefined {
  const { udsName } = written.fields();
  const socket = udsName.text() ?? '';
  if (!socket.startsWith('/')) udsName.invalid(socket, 'expected the absolute path of a Unix socket');
  return { socket };
}

function readTcp(written: Written<typeof tcpSchema>): EgressProxy | undefined {
  const { url: place, tlsConfig } = written.fields();
  const text = place.text() ?? '';
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '') {
    // A password is not repeated.
    place.wrong('expected a URL such as https://proxy:8131, without a user or a password');
    return undefined;
  }
  if (url.protocol === 'https:') return { url, tls: readTls(tlsConfig) };
  if (!tlsConfig.absent) tlsConfig.wrong('must not be set for a URL with http');
  return { url, tls: undefined };
}

function readTls(written: Written<typeof tlsSchema>): EgressTls {
  if (written.absent) written.required('it is needed for a URL with https');
  const { caBundle, clientCert, clientKey } = written.fields();
  const needed = (file: Written): string => {
    const name = file.text() ?? '';
    if (name === '' && !written.absent) file.required('the name of a file');
    return name;
  };
  return {
    path: written.path,
    caBundle: caBundle.text() || undefined,
    clientCert: needed(clientCert),
    clientKey: needed(clientKey),
  };
}
