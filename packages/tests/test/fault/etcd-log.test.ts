import { createCipheriv, randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Change } from '@cluster-apiserver/testkit/etcd-gateway';
import { decryptChanges } from './etcd-log.ts';

// Values that a broken server could store. The format is written here once more, independently of the server's code.

const secret = Buffer.alloc(32, 'a');
const encryption = Buffer.from(
  JSON.stringify({
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['*.*'],
        providers: [{ aesgcm: { keys: [{ name: 'a', secret: secret.toString('base64') }] } }, { identity: {} }],
      },
    ],
  }),
);
const object = '{"kind":"ServiceAccount"}';
const accounts = '/registry/serviceaccounts/';
const key = `${accounts}team/x`;

function encrypt(etcdKey: string, { by = secret, name = 'a' } = {}): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', by, nonce).setAAD(Buffer.from(etcdKey));
  const sealed = [cipher.update(object), cipher.final()];
  return Buffer.concat([Buffer.from(`k8s:enc:aesgcm:v1:${name}:`), nonce, ...sealed, cipher.getAuthTag()]);
}

const readValue = (value: Buffer | undefined): Promise<unknown> =>
  decryptChanges([{ revision: 7, key, value } satisfies Change], { encryption });

test('encrypted values are decrypted, and deletions stay', async () => {
  expect(await readValue(encrypt(key))).toEqual([{ revision: 7, key, value: object }]);
  expect(await readValue(undefined)).toEqual([{ revision: 7, key, value: undefined }]);
});

test.each<[string, Buffer]>([
  ['a value in clear', Buffer.from(object)],
  ['the value of another object', encrypt(`${accounts}team/y`)],
  ['a value of another key', encrypt(key, { by: Buffer.alloc(32, 'b') })],
  ['a value of an unknown key', encrypt(key, { name: 'b' })],
  ['a changed value', withLastByteChanged(encrypt(key))],
])('%s is a violation, although the configuration permits unencrypted values', async (_, value) => {
  await expect(readValue(value)).rejects.toThrow(`the value of ${key} at 7 cannot be read`);
});

function withLastByteChanged(value: Buffer): Buffer {
  const changed = Buffer.from(value);
  changed.writeUInt8(changed.readUInt8(changed.length - 1) ^ 1, changed.length - 1);
  return changed;
}
