import type { KindServices } from '../src/index.ts';

/** All services of kinds, for tests of their declarations. */
export const services: KindServices = {
  eventLifetimeSeconds: 3600,
  serviceAccountTokens: {
    audiences: ['here'],
    lifetimeSecondsMax: undefined,
    issue: async () => ({ token: 'a token', issuedAtMs: 0, credentialId: 'JTI=1' }),
  },
};
