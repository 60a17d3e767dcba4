import { type Authenticator, type Credentials, TokenRejectedError } from '@cluster-apiserver/gates';
import { StatusError, type UserInfo } from '@cluster-apiserver/model';
import type { ApiRequest, ApiResponse, Handler } from '../exchange.ts';
import type { Authenticated, Understood } from '../facts.ts';

/** What is told to the log of a credential that was there and is nobody's. */
export type ReportRejection = (error: TokenRejectedError, facts: Understood) => void;

/** Who is it? A caller without a valid name learns nothing else, but for what an operator has written for this. */
export const authenticate =
  (authenticator: Authenticator, report: ReportRejection) =>
  (next: Handler<Authenticated>): Handler<Understood> => {
    const known = (facts: Understood, user: UserInfo | undefined): ApiResponse | Promise<ApiResponse> => {
      facts.trace?.endAuthentication(facts, user);
      if (!user) throw unauthorized();
      const recorded = facts.audit?.received(user);
      const known = Object.assign(facts, { user });
      return recorded ? recorded.then(() => next(known)) : next(known);
    };
    const refused = (facts: Understood, error: unknown): never => {
      facts.trace?.endAuthentication(facts, undefined, error);
      if (!(error instanceof TokenRejectedError)) throw error;
      report(error, facts);
      throw unauthorized(error.clientMessage);
    };
    return (facts) => {
      facts.trace?.beginAuthentication(facts);
      const credentials = new CredentialsOf(facts);
      let user: UserInfo | undefined | Promise<UserInfo | undefined>;
      try {
        user = authenticator.authenticate(credentials, facts.call);
      } catch (error) {
        return refused(facts, error);
      }
      if (!(user instanceof Promise)) return known(facts, user);
      facts.latency.begin('authentication');
      // Only what authentication throws is its rejection: two arguments, and no catch behind the rest of the way.
      return user.then(
        (found) => {
          facts.latency.end('authentication');
          return known(facts, found);
        },
        (error: unknown) => {
          facts.latency.end('authentication');
          return refused(facts, error);
        },
      );
    };
  };

/**
 * A class and no literal: a literal with a getter has a shape of its own each time, which lives in old memory and keeps
 * the request there until the next full collection.
 */
class CredentialsOf implements Credentials {
  readonly path: string;
  readonly #request: ApiRequest;

  constructor({ request, info }: Understood) {
    this.path = info.path;
    this.#request = request;
  }

  header(name: string): string | undefined {
    return this.#request.header(name);
  }

  headerLines(name: string): readonly string[] {
    return this.#request.headerLines(name);
  }

  headersFrom(prefix: string): ReturnType<Credentials['headersFrom']> {
    return this.#request.headersFrom(prefix);
  }

  get clientCertificates(): readonly Buffer[] {
    return this.#request.clientCertificates;
  }
}

const unauthorized = (told = 'Unauthorized'): StatusError => new StatusError('Unauthorized', told);
