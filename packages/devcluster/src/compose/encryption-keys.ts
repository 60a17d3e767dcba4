import type { Random } from '@cluster-apiserver/base';
import path from 'node:path';
import { readIfExists, replaceFile } from '../files.ts';

/** A key of an EncryptionConfiguration; the first one encrypts. */
export interface EncryptionKey {
  readonly name: string;
  readonly secret: string;
}

/** The steps of a rotation. Between two of them all replicas must have reloaded their configuration. */
export const keyChanges = {
  /** A new key, which replicas can read from now on. */
  add: (keys: readonly EncryptionKey[], random: Random) => [...keys, createKey(keys, random)],
  /** The newest key encrypts. */
  use: (keys: readonly EncryptionKey[]) => [...keys.slice(-1), ...keys.slice(0, -1)],
  /** Only the key that encrypts is left. */
  remove: (keys: readonly EncryptionKey[]) => keys.slice(0, 1),
} as const;
export type KeyChange = keyof typeof keyChanges;
export const isKeyChange = (text: string | undefined): text is KeyChange =>
  text !== undefined && Object.hasOwn(keyChanges, text);

const keyBytes = 32;
const fileMode = 0o600;

/** Reads the keys, or creates the first one. */
export function openEncryptionKeys(directory: string, random: Random): readonly EncryptionKey[] {
  const known = readIfExists(fileIn(directory));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written below
  if (known !== undefined) return JSON.parse(known) as readonly EncryptionKey[];
  // As it was kept when there was one.
  const only = readIfExists(path.join(directory, 'encryption.key'))?.trim();
  const first = createKey([], random);
  return keep(directory, [only === undefined ? first : { ...first, secret: only }]);
}

export function changeKeys(change: KeyChange, directory: string, random: Random): readonly EncryptionKey[] {
  return keep(directory, keyChanges[change](openEncryptionKeys(directory, random), random));
}

const fileIn = (directory: string): string => path.join(directory, 'encryption-keys.json');

function keep(directory: string, keys: readonly EncryptionKey[]): readonly EncryptionKey[] {
  replaceFile(fileIn(directory), JSON.stringify(keys), fileMode);
  return keys;
}

function createKey(keys: readonly EncryptionKey[], random: Random): EncryptionKey {
  const numbers = keys.map(({ name }) => Number(/\d+$/.exec(name)?.[0]));
  return { name: `compose-${Math.max(0, ...numbers) + 1}`, secret: random.bytes(keyBytes).toString('base64') };
}
