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
  /** Told of each call: its path, how it ended in gRPC's words, and how long it took. */
  readonly onCall: (path: string, code: string, seconds: number) => void;
}

/** The plugin is on the same machine and small: when it comes back we want to know soon. */
const reconnectMaxMs = 1_000;

export function kmsV2Service(connection: KmsConnection): KmsV2Service {
  const { ask, close } = openClient(connection);
  return {
    status: () => ask(statusV2, undefined),
    encrypt: (plain, uid) => ask(encryptV2, { plain, uid }),
    decrypt: (encrypted, uid, trace) => ask(decryptV2, { encrypted, uid }, trace),
    close,
  };
}

export function kmsV1Service(connection: KmsConnection): KmsV1Service {
  const { ask, close } = openClient(connection);
  return {
    version: () => ask(versionV1, undefined),
    encrypt: (plain, trace) => ask(encryptV1, plain, trace),
    decrypt: (encrypted, trace) => ask(decryptV1, encrypted, trace),
    close,
  };
}

/** Loaded where there is a plugin, and nowhere else: its code takes as much memory as some thousand objects. */
const loadGrpc = () => import('@grpc/grpc-js');

function openClient({ socket, timeoutMs, clock, onCall: called }: KmsConnection): {
  ask: <Request, Answer>(rpc: GrpcMethod<Request, Answer>, request: Request, trace?: Span) => Promise<Answer>;
  close: () => void;
} {
  const connected = loadGrpc().then((grpc) => ({ grpc, client: connect(grpc, socket) }));
  return {
    ask: async (rpc, request, trace) => {
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
          rpc.decode,
          request,
          metadata,
          { deadline: clock.now() + timeoutMs },
          (error, answer) => {
            const code = codes[error?.code ?? codes.OK];
            called(rpc.path, code, (clock.monotonicMs() - startedMs) / 1000);
            span?.set({ 'rpc.response.status_code': code });
            span?.end(error ?? undefined);
            if (error) reject(toError(error, rpc.path, codes));
            else resolve(answer as NonNullable<typeof answer>); // there is one whenever there is no error
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
  // The kernel knows abstract sockets by a name that begins with a zero byte.
  return new Client(`unix:${socket.replace(/^@/, '\0')}`, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': reconnectMaxMs,
    'grpc.default_authority': 'localhost',
  });
}

function toError(error: ServiceError, path: string, codes: Grpc['status']): Error {
  // What passes may end otherwise when it is tried again: it says nothing of what was sent.
  const passing: readonly number[] = [
    codes.UNAVAILABLE,
    codes.DEADLINE_EXCEEDED,
    codes.CANCELLED,
    codes.RESOURCE_EXHAUSTED,
    codes.ABORTED,
    codes.UNAUTHENTICATED,
    codes.PERMISSION_DENIED,
  ];
  if (passing.includes(error.code))
    return new KeyUnavailableError('the key management plugin does not answer', { cause: error });
  return new Error(`the key management plugin refuses ${path}`, { cause: error });
}
