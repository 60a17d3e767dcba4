/** Keys of test servers, which encrypt what they store as production does. They are known, so they protect nothing. */

interface EncryptedResources {
  readonly resources: readonly string[];
  /** The first encrypts, all decrypt. */
  readonly providers: readonly object[];
}

const keyBytes = 32;

/** Encrypts all resources with one key, like the configuration of `npm start`, except those with other providers. */
export const createEncryptionConfiguration = (others: readonly EncryptedResources[] = []): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [...others, { resources: ['*.*'], providers: [encryptionKey, { identity: {} }] }],
  });

const encryptionKey = {
  aesgcm: { keys: [{ name: 'tests', secret: Buffer.alloc(keyBytes, 'tests').toString('base64') }] },
};
