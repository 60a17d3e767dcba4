import type { Span } from '@cluster-apiserver/base';

/**
 * A KMS plugin on the same machine, which encrypts keys with a key of a key management service. It never sees objects. Methods
 * reject with a KeyUnavailableError if the plugin does not respond in time, and with another error if it refuses.
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
  /** The ID of the key that it encrypts with now. */
  readonly keyId: string;
}

export interface EncryptedKey {
  readonly ciphertext: Buffer;
  /** The ID of the plugin's key that encrypted it. */
  readonly keyId: string;
  /** What else the plugin needs to decrypt it. */
  readonly annotations: ReadonlyMap<string, Buffer>;
}

/** The older API: the plugin is called for each key and reports no status. */
export interface KmsV1Service {
  version(): Promise<string>;
  encrypt(plain: Uint8Array, trace?: Span): Promise<Buffer>;
  decrypt(encrypted: Uint8Array, trace?: Span): Promise<Buffer>;
  close(): void;
}
