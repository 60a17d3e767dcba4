import { chain } from '@cluster-apiserver/base';
import type { Authenticator } from './authenticator.ts';
import { anonymousName, addAssumedGroup } from './user-groups.ts';

const anonymous = addAssumedGroup({ name: anonymousName, groups: [] });

/**
 * Authenticates requests without credentials as anonymous on paths that allow it. Requests with invalid credentials have
 * already been rejected by the inner authenticator.
 */
export const withAnonymous = (known: Authenticator, allowed: (path: string) => boolean): Authenticator => ({
  authenticate: (credentials, call) =>
    chain(known.authenticate(credentials, call), (user) => user ?? (allowed(credentials.path) ? anonymous : undefined)),
});
