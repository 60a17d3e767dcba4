import { loadConfiguration } from './load.ts';
import type { Written } from './written.ts';

/** Where traces are sent, and which requests are sampled. */
export interface TracingConfiguration {
  readonly endpoint: TracingEndpoint;
  /** How many of a million root spans to sample; undefined for none. */
  readonly samplingRatePerMillion: number | undefined;
}

/** An OTLP receiver, reached without TLS. */
export type TracingEndpoint =
  | { readonly type: 'tcp'; readonly address: string }
  /** The path of a socket, or the name of an abstract one. */
  | { readonly type: 'unix' | 'unix-abstract'; readonly path: string };

/** The port of OTLP over gRPC. */
const defaultEndpoint: TracingEndpoint = { type: 'tcp', address: 'localhost:4317' };

const members = ['endpoint', 'samplingRatePerMillion'] as const;
/** The same fields one level deeper, as our documentation writes them. */
const embedded = 'TracingConfiguration';

/** Throws a ConfigurationError with everything that is wrong. */
export const loadTracingConfiguration = (text: string): TracingConfiguration =>
  loadConfiguration(
    {
      kind: 'TracingConfiguration',
      versions: ['v1', 'v1beta1', 'v1alpha1'],
      fields: [...members, embedded],
      read: (fields) => readFields(fields as Fields),
    },
    text,
  );

type Fields = Readonly<Record<(typeof members)[number] | typeof embedded, Written>>;

function readFields({ TracingConfiguration: nested, ...inline }: Fields): TracingConfiguration {
  if (nested.absent) return readMembers(inline);
  for (const name of members)
    if (!inline[name].absent) inline[name].wrong(`must not be set beside ${embedded}, which holds the same fields`);
  return readMembers(nested.fields(members));
}

const readMembers = ({
  endpoint,
  samplingRatePerMillion,
}: Readonly<Record<(typeof members)[number], Written>>): TracingConfiguration => ({
  endpoint: readEndpoint(endpoint),
  samplingRatePerMillion: readRate(samplingRatePerMillion),
});

const million = 1_000_000;

function readRate(written: Written): number | undefined {
  const rate = written.int32();
  if (rate !== undefined && (rate < 0 || rate > million))
    written.invalid(rate, `expected a number from 0 to ${million}`);
  return rate;
}

/** A host with a port, in brackets if it is an IPv6 address. */
const hostAndPort = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@?#[\]]+):([0-9]{1,5})$/;
const portMax = 65_535;
const schemed = /^([A-Za-z][\w+.-]*):\/\/(.*)$/s;

function readEndpoint(written: Written): TracingEndpoint {
  const text = written.text();
  if (text === undefined) return defaultEndpoint;
  const [, scheme, rest = ''] = schemed.exec(text) ?? [];
  if (scheme === 'unix' || scheme === 'unix-abstract') {
    if (!/^\/[^\0]+$/.test(rest)) written.invalid(text, `expected a path: ${scheme}:///path`);
    return { type: scheme, path: rest };
  }
  if (scheme !== undefined && scheme !== 'dns') {
    // A URL of another scheme may hold a password.
    written.wrong(
      `unsupported scheme ${JSON.stringify(scheme)}: expected none, dns, unix or unix-abstract; there is no TLS`,
    );
    return defaultEndpoint;
  }
  const address = scheme === undefined ? text : rest.replace(/^\//, '');
  const port = Number(hostAndPort.exec(address)?.[2] ?? 0);
  // gRPC would take a host before the slash for a DNS server.
  if (port < 1 || port > portMax || (scheme !== undefined && !rest.startsWith('/')))
    written.wrong('expected a host and a port such as localhost:4317 or dns:///collector:4317');
  return { type: 'tcp', address };
}
