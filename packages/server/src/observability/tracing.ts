import { type CleanupStack, unreachable } from '@cluster-apiserver/base';
import { loadTracingConfiguration, type TracingEndpoint } from '@cluster-apiserver/config';
import { type Log, type Metrics, openTracer, type Tracer, type TracerMeasures } from '@cluster-apiserver/telemetry';
import { version } from '../version.ts';
import type { WiringContext } from '../configuration/context.ts';
import { fileOf, readFlagFile, withFlagErrors } from '../files/flag-files.ts';

const flag = 'tracing-config-file';

/** Undefined without a configuration: then nothing is sampled, and OpenTelemetry is not loaded. */
export async function openTracing(
  { flags, environment, metrics, log, serverId }: WiringContext,
  cleanup: CleanupStack,
): Promise<Tracer | undefined> {
  const { clock, random, files } = environment;
  const file = fileOf(flags, flag);
  if (!file) return undefined;
  const content = await readFlagFile(file, files);
  const configuration = await withFlagErrors(flag, () => loadTracingConfiguration(content.toString()));
  const address = toGrpcAddress(configuration.endpoint);
  const tracer = await openTracer({
    address,
    samplingRatePerMillion: configuration.samplingRatePerMillion ?? 0,
    resource: { 'service.name': 'apiserver', 'service.version': version, 'service.instance.id': serverId },
    clock,
    random,
    measures: createTracerMeasures(metrics),
    exported: createExportReporter(log, address),
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

/** Logs once when the collector becomes unreachable and once when it recovers: batches fail every second in between. */
function createExportReporter(log: Log, endpoint: string): (error: Error | undefined) => void {
  let isFailing = false;
  return (error) => {
    if (isFailing === (error !== undefined)) return;
    isFailing = error !== undefined;
    if (error) log.warn('trace collector unreachable; dropping spans', { endpoint, error });
    else log.info('trace collector reachable again', { endpoint });
  };
}
