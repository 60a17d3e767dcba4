import { type Authenticator, type Credentials, TokenRejectedError } from '@cluster-apiserver/gates';
import { StatusError, type UserInfo } from '@cluster-apiserver/model';
import type { ApiRequest, ApiResponse, Handler } from '../exchange.ts';
import type { AuthenticatedContext, RequestInfoContext } from '../request-context.ts';

/** What is told to the log of a credential that was there and is nobody's. */
export type ReportRejection = (error: TokenRejectedError, context: RequestInfoContext) => void;

/** Who is it? A caller without a valid name learns nothing else, but for what an operator has written for this. */
export const authenticate =
  (authenticator: Authenticator, report: ReportRejection) =>
  (next: Handler<AuthenticatedContext>): Handler<RequestInfoContext> => {
    const proceed = (context: RequestInfoContext, user: UserInfo | undefined): ApiResponse | Promise<ApiResponse> => {
      context.trace?.endAuthentication(context, user);
      if (!user) throw unauthorized();
      const recorded = context.audit?.logRequestReceived(user);
      const known = Object.assign(context, { user });
      return recorded ? recorded.then(() => next(known)) : next(known);
    };
    const reject = (context: RequestInfoContext, error: unknown): never => {
      context.trace?.endAuthentication(context, undefined, error);
      if (!(error instanceof TokenRejectedError)) throw error;
      report(error, context);
      throw unauthorized(error.told);
    };
    return (context) => {
      context.trace?.beginAuthentication(context);
      const credentials = new RequestCredentials(context);
      let user: UserInfo | undefined | Promise<UserInfo | undefined>;
      try {
        user = authenticator.authenticate(credentials, context.call);
      } catch (error) {
        return reject(context, error);
      }
      if (!(user instanceof Promise)) return proceed(context, user);
      context.latency.begin('authentication');
      // Only what authentication throws is its rejection: two arguments, and no catch behind the rest of the way.
      return user.then(
        (found) => {
          context.latency.end('authentication');
          return proceed(context, found);
        },
        (error: unknown) => {
          context.latency.end('authentication');
          return reject(context, error);
        },
      );
    };
  };

/**
 * A class and no literal: a literal with a getter has a shape of its own each time, which lives in old memory and keeps
 * the request there until the next full collection.
 */
class RequestCredentials implements Credentials {
  readonly path: string;
  readonly #request: ApiRequest;

  constructor({ request, info }: RequestInfoContext) {
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
