import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { int32, object, string } from './schema.ts';
import type { Written, WrittenFields } from './written.ts';

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

const million = 1_000_000;

const members = {
  endpoint: string(
    'OTLP receiver, reached by gRPC without TLS: `host:port`, `dns:///host:port`, `unix:///path` or `unix-abstract:///name`.',
    { default: 'localhost:4317' },
  ),
  samplingRatePerMillion: int32(
    'How many of a million requests whose caller records no trace are recorded. Requests whose caller records one are recorded too.',
    { minimum: 0, maximum: million, default: 0 },
  ),
};
/** The same fields one level deeper, as the specification writes them. */
const embedded = 'TracingConfiguration';

const fields = { ...members, [embedded]: object('The same fields, which then must not be set beside it.', members) };

export const tracingKind = declareKind({
  kind: 'TracingConfiguration',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  description: 'Configuration of tracing by OpenTelemetry.',
  fields,
});

/** Throws a ConfigurationError with everything that is wrong. */
export const loadTracingConfiguration = (text: string, findings?: Findings): TracingConfiguration =>
  loadConfiguration(tracingKind, readFields, text, findings);

function readFields({ TracingConfiguration: nested, ...inline }: WrittenFields<typeof fields>): TracingConfiguration {
  if (nested.absent) return readMembers(inline);
  for (const name of ['endpoint', 'samplingRatePerMillion'] as const)
    if (!inline[name].absent) inline[name].wrong(`must not be set beside ${embedded}, which holds the same fields`);
  return readMembers(nested.fields());
}

const readMembers = ({ endpoint, samplingRatePerMillion }: WrittenFields<typeof members>): TracingConfiguration => ({
  endpoint: readEndpoint(endpoint),
  samplingRatePerMillion: readRate(samplingRatePerMillion),
});

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
