import { settle, trackLatency } from '@cluster-apiserver/base';
import { type Authenticator, type Credentials, TokenRejectedError } from '@cluster-apiserver/gates';
import { StatusError, type UserInfo } from '@cluster-apiserver/model';
import type { ApiResponse, Handler } from '../exchange.ts';
import {
  addWarning,
  type AuthenticatedContext,
  type DeadlineContext,
  type RequestInfoContext,
} from '../request-context.ts';

/** Logs a rejected credential. */
export type ReportRejection = (error: TokenRejectedError, context: RequestInfoContext) => void;

/** Authenticates the caller, or responds with 401. */
export function authenticate(
  authenticator: Authenticator,
  report: ReportRejection,
  next: Handler<AuthenticatedContext>,
): Handler<DeadlineContext> {
  const ask = (context: DeadlineContext): UserInfo | undefined | Promise<UserInfo | undefined> =>
    trackLatency(
      context.latency,
      'authentication',
      authenticator.authenticate(new RequestCredentials(context), context.call),
    );
  const proceed = (user: UserInfo | undefined, context: DeadlineContext): ApiResponse | Promise<ApiResponse> => {
    context.trace?.endAuthentication(context, user);
    if (!user) throw unauthorized();
    const recorded = context.audit?.logRequestReceived(user);
    const authenticated = Object.assign(context, { user });
    return recorded ? recorded.then(() => next(authenticated)) : next(authenticated);
  };
  const reject = (error: unknown, context: DeadlineContext): never => {
    context.trace?.endAuthentication(context, undefined, error);
    if (!(error instanceof TokenRejectedError)) throw error;
    const { annotations } = error;
    for (const key in annotations) context.audit?.annotate(key, annotations[key] ?? '');
    report(error, context);
    throw unauthorized(error.clientMessage);
  };
  return (context) => {
    context.trace?.beginAuthentication(context);
    return settle(ask, context, proceed, reject);
  };
}

/**
 * A class, because each object literal with a getter has its own hidden class, which V8 keeps in old space and which
 * retains the request until the next full GC.
 */
class RequestCredentials implements Credentials {
  readonly path: string;
  readonly #context: RequestInfoContext;

  constructor(context: RequestInfoContext) {
    this.path = context.info.path;
    this.#context = context;
  }

  header(name: string): string | undefined {
    return this.#context.request.header(name);
  }

  headerLines(name: string): readonly string[] {
    return this.#context.request.headerLines(name);
  }

  headersFrom(prefix: string): ReturnType<Credentials['headersFrom']> {
    return this.#context.request.headersFrom(prefix);
  }

  get clientCertificates(): readonly Buffer[] {
    return this.#context.request.clientCertificates;
  }

  warn(text: string): void {
    addWarning(this.#context, text);
  }

  annotate(key: string, value: string): void {
    this.#context.audit?.annotate(key, value);
  }
}

const unauthorized = (message = 'Unauthorized'): StatusError => new StatusError('Unauthorized', message);
