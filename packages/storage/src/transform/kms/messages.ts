/** The messages of both KMS plugin APIs, by their field numbers. */
import {
  decodeMessage,
  encodeMessage,
  readNested,
  type Reader,
  readFields,
  writeBytes,
  writeNested,
  type Writer,
} from '../../protobuf/fields.ts';
import type { GrpcMethod } from '../../protobuf/grpc-method.ts';
import type { EncryptedKey, KmsStatus } from './service.ts';

const bytes = (reader: Reader): Buffer => Buffer.from(reader.bytes());

/** A protobuf map: one field per entry, which is a message of key and value. */
export function writeAnnotations(to: Writer, field: number, annotations: ReadonlyMap<string, Uint8Array>): void {
  for (const [key, value] of annotations)
    writeNested(to, field, (entry) => {
      writeBytes(entry, 1, key);
      writeBytes(entry, 2, value);
    });
}

export function readAnnotation(reader: Reader, into: Map<string, Buffer>): void {
  readNested(reader, (inner, end) => {
    let key = '';
    let value: Buffer = Buffer.alloc(0);
    readFields(inner, end, (number, from) => {
      if (number === 1) key = from.string();
      else if (number === 2) value = bytes(from);
      else return false;
      return true;
    });
    if (inner.pos !== end) throw new RangeError('a part of an annotation is longer than the annotation');
    into.set(key, value);
  });
}

export const statusV2: GrpcMethod<void, KmsStatus> = {
  path: '/v2.KeyManagementService/Status',
  encode: () => encodeMessage(() => {}),
  decode: (message) => {
    const texts = ['', '', '', ''];
    decodeMessage(message, (number, reader) => {
      if (number < 1 || number > 3) return false;
      texts[number] = reader.string();
      return true;
    });
    const [, version = '', healthz = '', keyId = ''] = texts;
    return { version, healthz, keyId };
  },
};

export const encryptV2: GrpcMethod<{ readonly plain: Uint8Array; readonly uid: string }, EncryptedKey> = {
  path: '/v2.KeyManagementService/Encrypt',
  encode: ({ plain, uid }) =>
    encodeMessage((to) => {
      writeBytes(to, 1, plain);
      writeBytes(to, 2, uid);
    }),
  decode: (message) => {
    let ciphertext: Buffer = Buffer.alloc(0);
    let keyId = '';
    const annotations = new Map<string, Buffer>();
    decodeMessage(message, (number, reader) => {
      if (number === 1) ciphertext = bytes(reader);
      else if (number === 2) keyId = reader.string();
      else if (number === 3) readAnnotation(reader, annotations);
      else return false;
      return true;
    });
    return { ciphertext, keyId, annotations };
  },
};

export const decryptV2: GrpcMethod<{ readonly encrypted: EncryptedKey; readonly uid: string }, Buffer> = {
  path: '/v2.KeyManagementService/Decrypt',
  encode: ({ encrypted, uid }) =>
    encodeMessage((to) => {
      writeBytes(to, 1, encrypted.ciphertext);
      writeBytes(to, 2, uid);
      writeBytes(to, 3, encrypted.keyId);
      writeAnnotations(to, 4, encrypted.annotations);
    }),
  decode: decodeBytes,
};

const protocolV1 = 'v1beta1';

export const versionV1: GrpcMethod<void, string> = {
  path: '/v1beta1.KeyManagementService/Version',
  encode: () => encodeMessage((to) => writeBytes(to, 1, protocolV1)),
  decode: (message) => {
    let version = '';
    decodeMessage(message, (number, reader) => {
      if (number !== 1) return false;
      version = reader.string();
      return true;
    });
    return version;
  },
};

export const encryptV1 = callV1('Encrypt');
export const decryptV1 = callV1('Decrypt');

function callV1(method: string): GrpcMethod<Uint8Array, Buffer> {
  return {
    path: `/v1beta1.KeyManagementService/${method}`,
    encode: (given) =>
      encodeMessage((to) => {
        writeBytes(to, 1, protocolV1);
        writeBytes(to, 2, given);
      }),
    decode: decodeBytes,
  };
}

function decodeBytes(message: Buffer): Buffer {
  let found: Buffer = Buffer.alloc(0);
  decodeMessage(message, (number, reader) => {
    if (number !== 1) return false;
    found = bytes(reader);
    return true;
  });
  return found;
}
