/** Servers with tracing. */
import { afterAll } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type OtlpReceiver, type ReceivedSpan, startReceiver } from '@cluster-apiserver/testkit/otlp-receiver';
import { type TestServer, type TestServerOptions, serveKinds } from '../serve-kinds.ts';

const file = 'tracing.yaml';
export const million = 1_000_000;

export const serveTraced = (fields: object, options: TestServerOptions = {}): Promise<TestServer> =>
  serveKinds(kinds, {
    ...options,
    flags: [`--tracing-config-file=${file}`, ...(options.flags ?? [])],
    files: {
      ...options.files,
      [file]: JSON.stringify({
        apiVersion: 'apiserver.config.platform.io/v1',
        kind: 'TracingConfiguration',
        ...fields,
      }),
    },
  });

export interface TracedServer {
  readonly etcd: RealEtcd;
  readonly receiver: OtlpReceiver;
  readonly server: TestServer;
}

/** Starts etcd, a trace receiver and a server that samples every request; stops them after the last test of the file. */
export async function startTracedServer(): Promise<TracedServer> {
  const [etcd, receiver] = await Promise.all([startEtcd(), startReceiver()]);
  const server = await serveTraced({ endpoint: receiver.address, samplingRatePerMillion: million }, { etcd });
  afterAll(async () => {
    await server.close();
    await receiver.stop();
    await etcd.stop();
  });
  return { etcd, receiver, server };
}

/** The spans of one request by its audit ID, starting with its own. Child spans are exported with it or earlier. */
export async function spansOf(receiver: OtlpReceiver, auditId: string): Promise<readonly ReceivedSpan[]> {
  const request = await until(`the trace of ${auditId}`, () => requestSpan(receiver, auditId));
  // A client may have sent several requests in one trace.
  const below = ({ spanId }: ReceivedSpan): ReceivedSpan[] =>
    receiver.spans
      .filter(({ traceId, parentSpanId }) => traceId === request.traceId && parentSpanId === spanId)
      .flatMap((span) => [span, ...below(span)]);
  return [request, ...below(request)];
}

export const requestSpan = ({ spans }: OtlpReceiver, auditId: string): ReceivedSpan | undefined =>
  spans.find(({ attributes }) => attributes['audit-id'] === auditId);

/** A trace as an indented tree: each span below its parent, in the order of their starts. */
export function treeOf(spans: readonly ReceivedSpan[], describe: (span: ReceivedSpan) => string): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const sorted = [...spans].sort((one, other) => Number(one.startNanos - other.startNanos));
  const below = (parent: string | undefined, depth: number): string[] =>
    sorted
      .filter(({ parentSpanId }) => (parent === undefined ? !ids.has(parentSpanId) : parentSpanId === parent))
      .flatMap((span) => [`${'  '.repeat(depth)}${describe(span)}`, ...below(span.spanId, depth + 1)]);
  return below(undefined, 0);
}
