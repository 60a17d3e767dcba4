import type { KindServices } from '../src/index.ts';

/** Everything that the kinds ask for, for tests of what follows from their declarations. */
export const services: KindServices = {
  eventLifetimeSeconds: 3600,
  serviceAccountTokens: {
    audiences: ['here'],
    lifetimeSecondsMax: undefined,
    issue: async () => ({ token: 'a token', issuedAtMs: 0 }),
  },
};
