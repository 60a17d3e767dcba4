import type { Authenticator } from './authenticator.ts';
import { anonymousName, addAssumedGroup } from './user-groups.ts';

const anonymous = addAssumedGroup({ name: anonymousName, groups: [] });

/**
 * Whoever brings no credential is anonymous where that is allowed. One that was brought and is nobody's is rejected by
 * then, so it never becomes this.
 */
export const withAnonymous = (known: Authenticator, allowed: (path: string) => boolean): Authenticator => ({
  authenticate: (credentials, call) => {
    const getFallback = () => (allowed(credentials.path) ? anonymous : undefined);
    const user = known.authenticate(credentials, call);
    return user instanceof Promise ? user.then((found) => found ?? getFallback()) : (user ?? getFallback());
  },
});
