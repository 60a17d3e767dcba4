import type { JwtIssuer } from '../../src/index.ts';

/** The user and groups of a token, each with a prefix. */
export const prefixedClaims: JwtIssuer['claimMappings'] = {
  username: { from: 'claim', claim: 'sub', prefix: 'p:' },
  groups: { from: 'claim', claim: 'groups', prefix: 'g:' },
  uid: undefined,
  extra: [],
};
