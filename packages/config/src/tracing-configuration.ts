import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { int32, object, string } from './schema.ts';
import type { ConfigNode, ConfigNodeFields } from './config-node.ts';

/** The trace collector, and the sampling rate. */
export interface TracingConfiguration {
  readonly endpoint: TracingEndpoint;
  /** Sampled root spans per million; undefined for none. */
  readonly samplingRatePerMillion: number | undefined;
}

/** An OTLP receiver, reached without TLS. */
export type TracingEndpoint =
  | { readonly type: 'tcp'; readonly address: string }
  /** The path of a socket, or the name of an abstract socket. */
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
/** The specification nests the same fields one level deeper. */
const embedded = 'TracingConfiguration';

const fields = { ...members, [embedded]: object('The same fields, which then must not be set beside it.', members) };

export const tracingKind = declareKind({
  kind: 'TracingConfiguration',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  description: 'Configuration of tracing by OpenTelemetry.',
  fields,
});

/** Throws a ConfigurationError with all problems. */
export const loadTracingConfiguration = (text: string, findings?: Findings): TracingConfiguration =>
  loadConfiguration(tracingKind, readFields, text, findings);

function readFields({
  TracingConfiguration: nested,
  ...inline
}: ConfigNodeFields<typeof fields>): TracingConfiguration {
  if (nested.isAbsent) return readMembers(inline);
  for (const name of ['endpoint', 'samplingRatePerMillion'] as const)
    if (!inline[name].isAbsent)
      inline[name].addProblem(`must not be set beside ${embedded}, which holds the same fields`);
  return readMembers(nested.fields());
}

const readMembers = ({ endpoint, samplingRatePerMillion }: ConfigNodeFields<typeof members>): TracingConfiguration => ({
  endpoint: readEndpoint(endpoint),
  samplingRatePerMillion: readRate(samplingRatePerMillion),
});

function readRate(node: ConfigNode): number | undefined {
  const rate = node.int32();
  if (rate !== undefined && (rate < 0 || rate > million))
    node.addInvalid(rate, `expected a number from 0 to ${million}`);
  return rate;
}

/** A host with a port, in brackets if it is an IPv6 address. */
const hostAndPort = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@?#[\]]+):([0-9]{1,5})$/;
const portMax = 65_535;
const schemed = /^([A-Za-z][\w+.-]*):\/\/(.*)$/s;

function readEndpoint(node: ConfigNode): TracingEndpoint {
  const text = node.string();
  if (text === undefined) return defaultEndpoint;
  const [, scheme, rest = ''] = schemed.exec(text) ?? [];
  if (scheme === 'unix' || scheme === 'unix-abstract') {
    if (!/^\/[^\0]+$/.test(rest)) node.addInvalid(text, `expected a path: ${scheme}:///path`);
    return { type: scheme, path: rest };
  }
  if (scheme !== undefined && scheme !== 'dns') {
    // The message must not repeat the text: a URL of another scheme may contain a password.
    node.addProblem(
      `unsupported scheme ${JSON.stringify(scheme)}: expected none, dns, unix or unix-abstract; there is no TLS`,
    );
    return defaultEndpoint;
  }
  const address = scheme === undefined ? text : rest.replace(/^\//, '');
  const port = Number(hostAndPort.exec(address)?.[2] ?? 0);
  // gRPC would treat a host before the slash as a DNS server.
  if (port < 1 || port > portMax || (scheme !== undefined && !rest.startsWith('/')))
    node.addProblem('expected a host and a port such as localhost:4317 or dns:///collector:4317');
  return { type: 'tcp', address };
}
