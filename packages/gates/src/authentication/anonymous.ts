import type { Authenticator } from './authenticator.ts';
import { anonymousName, assumedUser } from './known-user.ts';

const anonymous = assumedUser({ name: anonymousName, groups: [] });

/**
 * Whoever brings no credential is anonymous where that is allowed. One that was brought and is nobody's is rejected by
 * then, so it never becomes this.
 */
export const orAnonymous = (known: Authenticator, allowed: (path: string) => boolean): Authenticator => ({
  authenticate: (credentials, call) => {
    const nobody = () => (allowed(credentials.path) ? anonymous : undefined);
    const user = known.authenticate(credentials, call);
    return user instanceof Promise ? user.then((found) => found ?? nobody()) : (user ?? nobody());
  },
});
