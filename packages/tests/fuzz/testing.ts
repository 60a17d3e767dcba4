import type { FuzzContext } from './input.ts';

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A context for tests without a server. */
export const contextForTests: FuzzContext = {
  token: 'administrator-0123456789',
  serviceAccountToken: `${part({ alg: 'ES256', kid: 'k' })}.${part({ sub: 's', exp: 1, aud: ['a'] })}.${'A'.repeat(86)}`,
  continueToken: part({ v: 'meta.k8s.io/v1', rv: 5, start: 'n\0' }),
};
