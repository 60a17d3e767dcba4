import type { Authenticator, UserInfo } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Authenticated, Understood } from '../facts.ts';

/** Who is it? A caller without a valid name learns nothing else. */
export const authenticate =
  (authenticator: Authenticator) =>
  (next: Handler<Authenticated>): Handler<Understood> => {
    const known = (facts: Understood, user: UserInfo | undefined): ApiResponse | Promise<ApiResponse> => {
      if (!user) throw new StatusError('Unauthorized', 'Unauthorized');
      return next(Object.assign(facts, { user }));
    };
    return (facts) => {
      const user = authenticator.authenticate(facts.request);
      return user instanceof Promise ? user.then((found) => known(facts, found)) : known(facts, user);
    };
  };
