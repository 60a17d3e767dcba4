import { isUtf8 } from 'node:buffer';
import {
  bytesType,
  decodeMessage,
  encodeMessage,
  varintType,
  writeBytes,
  writeBytesHeader,
  writeInt64,
} from '../../protobuf/fields.ts';
import { totalLength, type Pieces } from '../../pieces.ts';
import { readAnnotation, writeAnnotations } from './messages.ts';
import type { EncryptedKey } from './service.ts';

/** The stored form of KMS v2: the encrypted value, and its key as encrypted by the plugin. */
export interface EncryptedObject {
  readonly data: Buffer;
  readonly key: EncryptedKey;
  readonly keyType: KeyType;
}

/** Whether the key encrypts values itself, or keys are derived from it. */
export type KeyType = 'key' | 'seed';
const keyTypes: readonly KeyType[] = ['key', 'seed']; // by their numbers

type Envelope = Omit<EncryptedObject, 'data'>;

/** Returns a function that wraps values. All values of one key share the rest of the envelope. */
export function createEnvelopeWriter({ key, keyType }: Envelope): (data: Pieces) => Pieces {
  const afterData = encodeMessage((to) => {
    writeBytes(to, 2, key.keyId);
    writeBytes(to, 3, key.ciphertext);
    writeAnnotations(to, 4, key.annotations);
    writeInt64(to, 5, keyTypes.indexOf(keyType));
  });
  return (data) => [encodeMessage((to) => writeBytesHeader(to, 1, totalLength(data))), ...data, afterData];
}

/**
 * Throws if the bytes are no valid envelope. Like Go's protobuf it accepts fields in any order, repeated fields, of which the
 * last one counts, and unknown fields. The encrypted value authenticates itself.
 */
export function decodeEncryptedObject(bytes: Buffer): EncryptedObject {
  let data: Buffer | undefined;
  let ciphertext: Buffer | undefined;
  let keyId = '';
  const annotations = new Map<string, Buffer>();
  let type = 0;
  decodeMessage(bytes, (number, reader, wireType) => {
    if (number === 0) throw new Error('the envelope has a field without a number');
    // A field with another wire type is unknown.
    if (wireType !== (number === 5 ? varintType : bytesType)) return false;
    if (number === 1) data = asBuffer(reader.bytes());
    else if (number === 2) keyId = decodeText(reader.bytes());
    else if (number === 3) ciphertext = asBuffer(reader.bytes());
    else if (number === 4) readAnnotation(reader, annotations);
    else if (number === 5) type = reader.uint32();
    else return false;
    return true;
  });
  const keyType = keyTypes[type];
  if (!data || !keyType) throw new Error('the envelope lacks a value, or has a key of a type that is not known');
  const key = { ciphertext: ciphertext ?? Buffer.alloc(0), keyId, annotations };
  validateEncryptedKey(key);
  return { data, key, keyType };
}

function decodeText(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new Error('a text of the envelope is no UTF-8');
  return asBuffer(bytes).toString();
}

/** Small, because every value contains it. */
const keyIdBytesMax = 1024;
const ciphertextBytesMax = 1024;
const annotationsBytesMax = 32 * 1024;

/** Validates a key from a plugin or from etcd. */
export function validateEncryptedKey({ ciphertext, keyId, annotations }: EncryptedKey): void {
  if (ciphertext.length === 0 || ciphertext.length > ciphertextBytesMax)
    throw new Error(`the encrypted key has ${ciphertext.length} bytes, and may have 1 to ${ciphertextBytesMax}`);
  validateKeyId(keyId);
  let bytes = 0;
  for (const [name, value] of annotations) {
    if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/.test(name))
      throw new Error('the name of an annotation of the encrypted key is no domain name');
    bytes += Buffer.byteLength(name) + value.length;
  }
  if (bytes > annotationsBytesMax)
    throw new Error(`the annotations of the encrypted key have more than ${annotationsBytesMax} bytes`);
}

export function validateKeyId(keyId: string): void {
  const problem = keyIdProblem(keyId);
  if (problem) throw new Error(`the name of the plugin's key is ${problem === 'empty' ? 'empty' : 'too long'}`);
}

export function keyIdProblem(keyId: string): 'empty' | 'too_long' | undefined {
  if (keyId === '') return 'empty';
  return Buffer.byteLength(keyId) > keyIdBytesMax ? 'too_long' : undefined;
}

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
