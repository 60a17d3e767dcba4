/**
 * A KMS plugin for tests and experiments. DO NOT USE IT IN PRODUCTION: its keys are derived from their IDs, so it protects
 * nothing. To try it:
 *
 *     node --conditions=source packages/testkit/src/kms-plugin.ts /tmp/kms.sock
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { type sendUnaryData, Server, ServerCredentials, type ServerUnaryCall, status } from '@grpc/grpc-js';
import protobuf from 'protobufjs/minimal.js';

export interface RealPlugin {
  readonly socket: string;
  /** The ID of the key that it encrypts with. */
  keyId: string;
  /** Its reported health; `ok` if it is healthy. */
  healthz: string;
  /** Whether it refuses to decrypt, without a reason. */
  refusing: boolean;
  /** Whether it decrypts to other bytes than it encrypted. */
  lying: boolean;
  /** Responses wait for this. */
  ready: Promise<void>;
  /** How often each method was called. */
  readonly calls: Map<string, number>;
  /** The trace contexts of calls, in order. */
  readonly traceparents: string[];
  stop(): Promise<void>;
}

export async function startPlugin(socket: string): Promise<RealPlugin> {
  const calls = new Map<string, number>();
  const traceparents: string[] = [];
  const server = new Server();
  const method =
    (name: string, answer: (fields: Fields) => Uint8Array) =>
    async (call: ServerUnaryCall<Buffer, Uint8Array>, done: sendUnaryData<Uint8Array>): Promise<void> => {
      calls.set(name, (calls.get(name) ?? 0) + 1);
      traceparents.push(...call.metadata.get('traceparent').map(String));
      await plugin.ready;
      try {
        done(null, answer(fieldsOf(call.request)));
      } catch (error) {
        done({ code: plugin.refusing ? status.UNKNOWN : status.INVALID_ARGUMENT, details: String(error) });
      }
    };
  const form = (path: string) => ({
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (bytes: Uint8Array) => Buffer.from(bytes),
    responseDeserialize: (bytes: Buffer) => bytes,
  });
  const service = (version: string, methods: Readonly<Record<string, (fields: Fields) => Uint8Array>>): void => {
    const names = Object.keys(methods);
    server.addService(
      Object.fromEntries(names.map((name) => [name, form(`/${version}.KeyManagementService/${name}`)])),
      Object.fromEntries(Object.entries(methods).map(([name, answer]) => [name, method(`${version} ${name}`, answer)])),
    );
  };
  service('v2', {
    Status: () =>
      encodeMessage((to) => ['v2', plugin.healthz, plugin.keyId].forEach((text, at) => writeBytes(to, at + 1, text))),
    Encrypt: ({ 1: plain = empty }) =>
      encodeMessage((to) => {
        writeBytes(to, 1, seal(plugin.keyId, plain));
        writeBytes(to, 2, plugin.keyId);
        writeBytes(to, 3, annotation);
      }),
    Decrypt: ({ 1: cipher = empty, 3: keyId = empty, 4: noted = empty }) => {
      if (plugin.refusing) throw new Error('no');
      if (!noted.equals(annotation)) throw new Error('where is my annotation?');
      const plain = unseal(keyId.toString(), cipher);
      return encodeMessage((to) => writeBytes(to, 1, plugin.lying ? randomBytes(plain.length) : plain));
    },
  });
  service('v1beta1', {
    Version: () => encodeMessage((to) => writeBytes(to, 1, 'v1beta1')),
    Encrypt: ({ 2: plain = empty }) => encodeMessage((to) => writeBytes(to, 1, seal('v1', plain))),
    Decrypt: ({ 2: cipher = empty }) =>
      encodeMessage((to) => writeBytes(to, 1, plugin.lying ? randomBytes(32) : unseal('v1', cipher))),
  });
  if (!socket.startsWith('@')) rmSync(socket, { force: true });
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${socket.replace(/^@/, '\0')}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const plugin: RealPlugin = {
    socket,
    keyId: 'key-1',
    healthz: 'ok',
    refusing: false,
    lying: false,
    ready: Promise.resolve(),
    calls,
    traceparents,
    stop: async () => server.forceShutdown(),
  };
  return plugin;
}

type Fields = Readonly<Record<number, Buffer>>;
const empty = Buffer.alloc(0);
/** As an entry of a map. */
const annotation = Buffer.from(
  encodeMessage((to) => {
    writeBytes(to, 1, 'plugin.example.com');
    writeBytes(to, 2, 'yes');
  }),
);

/** Every field of these messages is a string, bytes or a message. */
function fieldsOf(message: Buffer): Fields {
  const fields: Record<number, Buffer> = {};
  const reader = protobuf.Reader.create(message);
  while (reader.pos < reader.len) fields[reader.uint32() >>> 3] = Buffer.from(reader.bytes());
  return fields;
}

function encodeMessage(write: (to: protobuf.Writer) => void): Uint8Array {
  const writer = protobuf.Writer.create();
  write(writer);
  return writer.finish();
}

function writeBytes(to: protobuf.Writer, field: number, value: string | Uint8Array): void {
  to.uint32((field << 3) | 2).bytes(Buffer.from(value));
}

const keyOf = (keyId: string): Buffer => createHash('sha256').update(keyId).digest();

function seal(keyId: string, plain: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', keyOf(keyId), nonce);
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

function unseal(keyId: string, sealed: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', keyOf(keyId), sealed.subarray(0, 12));
  decipher.setAuthTag(sealed.subarray(-16));
  return Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()]);
}

const [, program, socket] = process.argv;
if (program === import.meta.filename && socket) {
  const { keyId } = await startPlugin(socket);
  console.log(`a plugin that protects nothing listens on unix://${socket}, with the key ${keyId}`);
}
