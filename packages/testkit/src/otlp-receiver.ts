/** A receiver of traces as a collector is one: OTLP over gRPC, decoded by a declaration of its own. */
import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs';

export interface OtlpReceiver {
  /** Such as `127.0.0.1:4317`, or what was asked for. */
  readonly address: string;
  /** All that came, in the order of its coming. */
  readonly spans: readonly ReceivedSpan[];
  /** Whether it refuses what comes. */
  refusing: boolean;
  /** What it waits for before it answers. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the first span of a trace. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Attributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isFailed: boolean;
  /** Of the process that it comes from. */
  readonly resource: Attributes;
}

type Attributes = Readonly<Record<string, string | number | boolean>>;

const request = protobuf
  .parse(
    `syntax = "proto3";
     message Request { repeated ResourceSpans resourceSpans = 1; }
     message ResourceSpans { Resource resource = 1; repeated ScopeSpans scopeSpans = 2; }
     message Resource { repeated KeyValue attributes = 1; }
     message ScopeSpans { repeated Span spans = 2; }
     message Span {
       bytes traceId = 1; bytes spanId = 2; string traceState = 3; bytes parentSpanId = 4; string name = 5;
       int32 kind = 6; fixed64 start = 7; fixed64 end = 8; repeated KeyValue attributes = 9;
       repeated Link links = 13; Status status = 15;
     }
     message Link { bytes traceId = 1; bytes spanId = 2; }
     message Status { int32 code = 3; }
     message KeyValue { string key = 1; Value value = 2; }
     message Value { oneof value { string text = 1; bool fact = 2; int64 integer = 3; double number = 4; } }`,
  )
  .root.lookupType('Request');

interface Message {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly SpanMessage[] }[];
  }[];
}
interface SpanMessage {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId: Buffer;
  readonly traceState: string;
  readonly name: string;
  readonly kind: number;
  readonly start: string;
  readonly end: string;
  readonly attributes: readonly KeyValue[];
  readonly links: readonly { readonly traceId: Buffer; readonly spanId: Buffer }[];
  readonly status: { readonly code: number } | null;
}
interface KeyValue {
  readonly key: string;
  readonly value: {
    readonly text?: string;
    readonly fact?: boolean;
    readonly integer?: string;
    readonly number?: number;
  };
}

const kinds = [undefined, 'internal', 'server', 'client'] as const;
const errorCode = 2;

export async function startReceiver(address = '127.0.0.1:0'): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const server = new Server();
  const exportSpans = async (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): Promise<void> => {
    await receiver.ready;
    if (receiver.refusing) return done({ code: status.UNAVAILABLE, details: 'refusing' });
    spans.push(...spansIn(call.request));
    done(null, Buffer.alloc(0));
  };
  server.addService(
    {
      export: {
        path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
        requestStream: false,
        responseStream: false,
        requestSerialize: (bytes: Buffer) => bytes,
        requestDeserialize: (bytes: Buffer) => bytes,
        responseSerialize: (bytes: Buffer) => bytes,
        responseDeserialize: (bytes: Buffer) => bytes,
      },
    },
    { export: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => void exportSpans(call, done) },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  const receiver: OtlpReceiver = {
    address: address.startsWith('unix') ? address : `127.0.0.1:${port}`,
    spans,
    refusing: false,
    ready: Promise.resolve(),
    stop: async () => server.forceShutdown(),
  };
  return receiver;
}

function spansIn(bytes: Buffer): ReceivedSpan[] {
  const options = { longs: String, bytes: Buffer, arrays: true, defaults: true, oneofs: true };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Message` is the declaration above with these options
  const { resourceSpans } = request.toObject(request.decode(bytes), options) as Message;
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const ofProcess = attributesIn(resource.attributes);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => received(span, ofProcess)));
  });
}

const hex = (bytes: Buffer): string => Buffer.from(bytes).toString('hex');

const received = (span: SpanMessage, resource: Attributes): ReceivedSpan => ({
  traceId: hex(span.traceId),
  spanId: hex(span.spanId),
  parentSpanId: hex(span.parentSpanId),
  traceState: span.traceState,
  name: span.name,
  kind: kinds[span.kind] ?? 'internal',
  startNanos: BigInt(span.start),
  endNanos: BigInt(span.end),
  attributes: attributesIn(span.attributes),
  links: span.links.map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
  isFailed: span.status?.code === errorCode,
  resource,
});

const attributesIn = (attributes: readonly KeyValue[]): Attributes =>
  Object.fromEntries(
    attributes.map(({ key, value: { text, fact, integer, number } }) => [
      key,
      text ?? fact ?? (integer === undefined ? (number ?? 0) : Number(integer)),
    ]),
  );
