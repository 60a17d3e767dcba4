import type { Client, ServiceError } from '@grpc/grpc-js';
import { type Clock, type Span, type SpanOptions, traceHeaders } from '@cluster-apiserver/base';
import { KeyUnavailableError } from '../../errors.ts';
import type { GrpcMethod } from '../../protobuf/grpc-method.ts';
import { decryptV1, decryptV2, encryptV1, encryptV2, statusV2, versionV1 } from './messages.ts';
import type { KmsV1Service, KmsV2Service } from './service.ts';

export interface KmsConnection {
  /** A Unix socket; one that begins with @ is abstract and no file. */
  readonly socket: string;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** Called after each call with its path, gRPC status code and duration. */
  readonly onCall: (path: string, code: string, seconds: number) => void;
}

/** Short, because the plugin is on the same machine and should be used as soon as it is back. */
const reconnectMaxMs = 1_000;

export function kmsV2Service(connection: KmsConnection): KmsV2Service {
  const { call, close } = openClient(connection);
  return {
    status: () => call(statusV2, undefined),
    encrypt: (plain, uid) => call(encryptV2, { plain, uid }),
    decrypt: (encrypted, uid, trace) => call(decryptV2, { encrypted, uid }, trace),
    close,
  };
}

export function kmsV1Service(connection: KmsConnection): KmsV1Service {
  const { call, close } = openClient(connection);
  return {
    version: () => call(versionV1, undefined),
    encrypt: (plain, trace) => call(encryptV1, plain, trace),
    decrypt: (encrypted, trace) => call(decryptV1, encrypted, trace),
    close,
  };
}

/** Imported only if a plugin is configured: its code needs as much memory as thousands of objects. */
const loadGrpc = () => import('@grpc/grpc-js');

function openClient({ socket, timeoutMs, clock, onCall }: KmsConnection): {
  call: <Request, Answer>(rpc: GrpcMethod<Request, Answer>, request: Request, trace?: Span) => Promise<Answer>;
  close: () => void;
} {
  const connected = loadGrpc().then((grpc) => ({ grpc, client: connect(grpc, socket) }));
  return {
    call: async (rpc, request, trace) => {
      const { grpc, client } = await connected;
      const { Metadata, status: codes } = grpc;
      const span = trace?.child(`KMS ${rpc.path.slice(rpc.path.lastIndexOf('/') + 1)}`, spanOptions(rpc.path));
      const metadata = new Metadata();
      if (span) for (const [name, value] of Object.entries(traceHeaders(span.context))) metadata.set(name, value);
      return new Promise((resolve, reject) => {
        const startedMs = clock.monotonicMs();
        client.makeUnaryRequest(
          rpc.path,
          (value: typeof request) => Buffer.from(rpc.encode(value)),
          (bytes: Buffer) => rpc.decode(bytes),
          request,
          metadata,
          { deadline: clock.now() + timeoutMs },
          (error, answer) => {
            const code = codes[error?.code ?? codes.OK];
            onCall(rpc.path, code, (clock.monotonicMs() - startedMs) / 1000);
            span?.set({ 'rpc.response.status_code': code });
            span?.end(error ?? undefined);
            if (error) reject(toError(error, rpc.path, codes));
            else if (answer === undefined) reject(new Error(`${rpc.path} ended without a response`));
            else resolve(answer);
          },
        );
      });
    },
    close: () => void connected.then(({ client }) => client.close()),
  };
}

const spanOptions = (path: string): SpanOptions => ({
  kind: 'client',
  attributes: { 'rpc.system.name': 'grpc', 'rpc.method': path.slice(1) },
});

type Grpc = Awaited<ReturnType<typeof loadGrpc>>;

function connect({ Client, credentials }: Grpc, socket: string): Client {
  // The name of an abstract socket begins with a zero byte.
  return new Client(`unix:${socket.replace(/^@/, '\0')}`, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': reconnectMaxMs,
    'grpc.default_authority': 'localhost',
  });
}

function toError(error: ServiceError, path: string, codes: Grpc['status']): Error {
  // Transient errors say nothing about the request, which may succeed later.
  const transientCodes: readonly number[] = [
    codes.UNAVAILABLE,
    codes.DEADLINE_EXCEEDED,
    codes.CANCELLED,
    codes.RESOURCE_EXHAUSTED,
    codes.ABORTED,
    codes.UNAUTHENTICATED,
    codes.PERMISSION_DENIED,
  ];
  if (transientCodes.includes(error.code))
    return new KeyUnavailableError('the KMS plugin does not respond', { cause: error });
  return new Error(`the KMS plugin refuses ${path}`, { cause: error });
}
