import type { Call } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';

/** What authenticators can use of a request: everything but its body. */
export interface Credentials {
  header(name: string): string | undefined;
  /** All values of a header, one per line, never joined. */
  headerLines(name: string): readonly string[];
  /** All lines of headers whose lower-case name has the prefix, with that name. */
  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[];
  /** The chain of the TLS handshake, leaf first. The same object for all requests of a connection. */
  readonly clientCertificates: readonly Buffer[];
  /** Decoded, without the query. */
  readonly path: string;
  /** Adds a warning to the response. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
}

/**
 * Finds the user of a request. Returns undefined if it does not know the kind of credential, and throws a
 * `TokenRejectedError` for an invalid one.
 */
export interface Authenticator {
  authenticate(credentials: Credentials, call: Call): UserInfo | undefined | Promise<UserInfo | undefined>;
}

/** The group of all authenticated users. */
export const authenticatedGroup = 'system:authenticated';
