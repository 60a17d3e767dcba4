import { isIP } from 'node:net';
import type { Problems } from '@cluster-apiserver/model';
import { object } from '@cluster-apiserver/model/schema';
import { Findings } from './findings.ts';
import { defineConfigurationKind, loadConfiguration } from './load.ts';
import { checkedString, integer, optional } from './schema.ts';

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
  endpoint: optional(
    checkedString((value, at) => void readEndpoint(value, at)),
    'OTLP receiver, reached by gRPC without TLS, as a target of gRPC: `host:port`, `dns:///host:port`, `dns://server/host:port`, `ipv4:address:port`, `ipv6:[address]:port`, `unix:///path`, `unix:path` or `unix-abstract:name`. Without a port it is 443.',
    'localhost:4317',
  ),
  samplingRatePerMillion: optional(
    integer(0, million, `expected a number from 0 to ${million}`),
    'Number of requests per million that are recorded if their caller records no trace. Requests whose caller records one are recorded too.',
    0,
  ),
};
/** The specification nests the same fields one level deeper. */
const embedded = 'TracingConfiguration';

export const tracingKind = defineConfigurationKind({
  kind: 'TracingConfiguration',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  description: 'Configuration of tracing by OpenTelemetry.',
  fields: {
    ...members,
    [embedded]: optional(object(members), 'The same fields, which then must not be set beside it.'),
  },
});

/** Throws a ConfigurationError with all problems. */
export const loadTracingConfiguration = (file: string, findings = new Findings(file)): TracingConfiguration =>
  loadConfiguration(
    tracingKind,
    ({ TracingConfiguration: nested, ...inline }, at) => {
      if (nested)
        for (const name of ['endpoint', 'samplingRatePerMillion'] as const)
          if (inline[name] !== undefined)
            at.at(name).report(`must not be set beside ${embedded}, which holds the same fields`);
      const { endpoint, samplingRatePerMillion } = nested ?? inline;
      return {
        endpoint: endpoint === undefined ? defaultEndpoint : readEndpoint(endpoint, at.at('endpoint')),
        samplingRatePerMillion,
      };
    },
    file,
    findings,
  );

/** A host name, or an address, with an optional port; an IPv6 address with a port is in brackets. */
const hostAndPort =
  /^(?:\[(?<ip>[0-9a-fA-F:.]+)\]|(?<host>[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?))(?::(?<port>[0-9]{1,5}))?$/;
const portMax = 65_535;
const schemed = /^(?<scheme>[A-Za-z][\w+.-]*):(?<rest>.*)$/s;
const example = 'localhost:4317, dns:///collector:4317 or unix:///run/otel.sock';

/** Reads a target as gRPC does: a scheme may be followed by `//`, an authority and `/`. */
function readEndpoint(target: string, at: Problems): TracingEndpoint {
  const { scheme, rest } = splitTarget(target);
  const [, authority, path = rest] = /^\/\/([^/]*)(\/.*)?$/s.exec(rest) ?? [];
  switch (scheme) {
    case undefined:
      if (!isHostAndPort(target)) at.report(`expected a host and a port such as ${example}`);
      return { type: 'tcp', address: target };
    case 'dns':
      return readDns(at, authority, authority === undefined ? rest : path.replace(/^\//, ''));
    case 'ipv4':
    case 'ipv6':
      if (!rest.split(',').every((address) => isAddress(address, scheme === 'ipv4' ? 4 : 6)))
        at.invalid(
          target,
          `expected addresses with ports: ${scheme === 'ipv4' ? 'ipv4:127.0.0.1:4317' : 'ipv6:[::1]:4317'}`,
        );
      return { type: 'tcp', address: target };
    case 'unix':
    case 'unix-abstract':
      // As gRPC reads it: a path behind slashes is absolute, and there is no authority.
      if ((authority ?? '') !== '' || /^\/?$|\0/.test(path) || (authority === '' && path === rest))
        at.invalid(target, `expected a path: ${scheme}:///path or ${scheme}:path`);
      return { type: scheme, path };
    default:
      // The message must not repeat the text: a URL of another scheme may contain a password.
      at.report(
        `unsupported scheme ${JSON.stringify(scheme)}: expected none, dns, ipv4, ipv6, unix or unix-abstract; there is no TLS`,
      );
      return defaultEndpoint;
  }
}

/** `localhost:4317` has no scheme, and `dns:localhost` has one. */
function splitTarget(text: string): { readonly scheme: string | undefined; readonly rest: string } {
  const { scheme, rest = '' } = schemed.exec(text)?.groups ?? {};
  const isKnown = scheme !== undefined && (schemes.has(scheme) || rest.startsWith('//'));
  return isKnown ? { scheme, rest } : { scheme: undefined, rest: text };
}

const schemes: ReadonlySet<string> = new Set(['dns', 'ipv4', 'ipv6', 'unix', 'unix-abstract']);

/** The authority is a DNS server. */
function readDns(at: Problems, authority: string | undefined, name: string): TracingEndpoint {
  const isServer = authority === undefined || authority === '' || isHostAndPort(authority);
  if (!isServer || !isHostAndPort(name)) at.report(`expected a host and a port such as ${example}`);
  return { type: 'tcp', address: authority === undefined || authority === '' ? name : `dns://${authority}/${name}` };
}

function isHostAndPort(text: string): boolean {
  const { ip, port, host } = hostAndPort.exec(text)?.groups ?? {};
  if (ip === undefined && host === undefined) return isIP(text) === 6;
  return (ip === undefined || isIP(ip) === 6) && (port === undefined || isPort(port));
}

function isAddress(text: string, version: 4 | 6): boolean {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*)):([0-9]{1,5})$/.exec(text) ?? [];
  return isIP(bracketed ?? plain ?? '') === version && isPort(port ?? '');
}

const isPort = (digits: string): boolean => Number(digits) >= 1 && Number(digits) <= portMax;
