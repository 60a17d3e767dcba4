import type { Call } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';

/** What an authenticator may look at: nothing that would have to be read first. */
export interface Credentials {
  header(name: string): string | undefined;
  /** Every value of a header as its own line, never joined. */
  headerLines(name: string): readonly string[];
  /** Every line of every header whose lower-case name begins with this, by that name. */
  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[];
  /** What the client has shown at the handshake, its own certificate first; one object for each connection. */
  readonly clientCertificates: readonly Buffer[];
  /** Decoded, and without the query. */
  readonly path: string;
}

/**
 * Finds out who a request comes from. Undefined means that it cannot tell, not that anything is wrong; a
 * `TokenRejectedError` that a credential is there which is nobody's.
 */
export interface Authenticator {
  authenticate(credentials: Credentials, call: Call): UserInfo | undefined | Promise<UserInfo | undefined>;
}

/** Everybody whom some authenticator knows is in this group. */
export const authenticatedGroup = 'system:authenticated';
