import type { Span } from '@cluster-apiserver/base';

/**
 * What keeps the key that our keys are encrypted with: a plugin on the same machine, in front of a key management
 * service. It sees keys and never an object. Every method rejects with a KeyUnavailableError when the plugin does not
 * answer in time, and with any other error when it refuses. A call for a sampled request shows below its span.
 */
export interface KmsV2Service {
  status(): Promise<KmsStatus>;
  encrypt(plain: Uint8Array, uid: string): Promise<EncryptedKey>;
  decrypt(encrypted: EncryptedKey, uid: string, trace?: Span): Promise<Buffer>;
  close(): void;
}

export interface KmsStatus {
  readonly version: string;
  /** `ok`, or what is wrong. */
  readonly healthz: string;
  /** The key that it encrypts with now. */
  readonly keyId: string;
}

export interface EncryptedKey {
  readonly ciphertext: Buffer;
  /** The plugin's name of the key that it was encrypted with. */
  readonly keyId: string;
  /** What else the plugin wants to see again. */
  readonly annotations: ReadonlyMap<string, Buffer>;
}

/** The older protocol: the plugin is asked for each key, and says nothing of its own. */
export interface KmsV1Service {
  version(): Promise<string>;
  encrypt(plain: Uint8Array, trace?: Span): Promise<Buffer>;
  decrypt(encrypted: Uint8Array, trace?: Span): Promise<Buffer>;
  close(): void;
}
