import { generateKeyPairSync } from 'node:crypto';
import type { TestServerOptions } from '../serve-kinds.ts';

type Options = Required<Pick<TestServerOptions, 'flags' | 'files'>>;

/** Lets a server issue tokens of service accounts, with a new key. */
export const withAccountTokens = ({ flags = [], files = {} }: Partial<Options> = {}): Options => ({
  flags: [
    '--service-account-issuer=https://cluster.example',
    '--service-account-signing-key-file=signing.key',
    ...flags,
  ],
  files: {
    'signing.key': String(
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ),
    ...files,
  },
});
