import { type CleanupStack, type Clock, unreachable } from '@cluster-apiserver/base';
import { loadTracingConfiguration, type TracingConfiguration, type TracingEndpoint } from '@cluster-apiserver/config';
import {
  createOutages,
  type Log,
  type Metrics,
  openTracer,
  type Tracer,
  type TracerMeasures,
} from '@cluster-apiserver/telemetry';
import { version } from '../version.ts';
import type { ServerContext } from '../configuration/context.ts';
import { type FlagFile, fileOf, withFlagErrors } from '../files/flag-files.ts';
import { createStartupReader, type FlagFileReader } from '../files/startup-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { tracingFlags } from './tracing-flags.ts';

/** The TracingConfiguration. */
export const tracingSettingsOf = (values: FlagValues<typeof tracingFlags>): FlagFile | undefined =>
  fileOf(values, 'tracing-config-file');

/** Undefined if there is no file. */
export async function loadTracing(
  file: FlagFile | undefined,
  { read }: FlagFileReader,
): Promise<TracingConfiguration | undefined> {
  if (!file) return undefined;
  const content = await read(file, { kind: 'TracingConfiguration' });
  return withFlagErrors(file.flag, () => loadTracingConfiguration(content.toString()));
}

/** Undefined without a configuration: then nothing is sampled, and OpenTelemetry is not loaded. */
export async function openTracing(
  file: FlagFile | undefined,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Tracer | undefined> {
  const { environment, metrics, log, serverId } = context;
  const { clock, random } = environment;
  const configuration = await loadTracing(file, createStartupReader(context));
  if (!configuration) return undefined;
  const address = toGrpcAddress(configuration.endpoint);
  const tracer = await openTracer({
    address,
    samplingRatePerMillion: configuration.samplingRatePerMillion ?? 0,
    resource: { 'service.name': 'apiserver', 'service.version': version, 'service.instance.id': serverId },
    clock,
    random,
    measures: createTracerMeasures(metrics),
    exported: createExportReporter(log, clock, address),
  });
  cleanup.defer('tracing', () => tracer.close());
  return tracer;
}

/** The address in the syntax of gRPC. */
function toGrpcAddress(endpoint: TracingEndpoint): string {
  switch (endpoint.type) {
    case 'tcp':
      return endpoint.address;
    case 'unix':
      return `unix:${endpoint.path}`;
    case 'unix-abstract':
      // gRPC for Node has no `unix-abstract`. With an authority it passes the path unchanged: \0 marks an abstract socket.
      return `unix://abstract/\0${endpoint.path}`;
    default:
      return unreachable(endpoint);
  }
}

function createTracerMeasures(metrics: Metrics): TracerMeasures {
  const exported = metrics.counter({
    name: 'apiserver_tracing_spans_exported_total',
    help: 'Number of spans accepted by the trace collector.',
  });
  const dropped = metrics.counter({
    name: 'apiserver_tracing_spans_dropped_total',
    help: 'Number of spans dropped because the queue was full or the trace collector did not accept them.',
    labels: { reason: ['queue_full', 'export_failed'] },
  });
  return {
    exported: (spans) => exported.add({}, spans),
    dropped: (reason, spans) => dropped.add({ reason }, spans),
  };
}

function createExportReporter(log: Log, clock: Clock, endpoint: string): (error: Error | undefined) => void {
  const outages = createOutages(log.withName('tracing'), clock, {
    severity: 'warning',
    // Meaning: Spans of requests are lost until the collector answers.
    began: 'trace collector unreachable; dropping spans',
    remedy: 'check the collector at the endpoint of --tracing-config-file; requests are not affected: docs/tracing.md',
    ended: 'trace collector reachable again',
  });
  return (error) => (error ? outages.failed({ endpoint }, { error }) : outages.succeeded({ endpoint }));
}
