import { type Clock, getOwn, setOwn } from '@cluster-apiserver/base';
import type { Authorities } from '@cluster-apiserver/certificates';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Authenticator, Credentials } from '../authenticator.ts';
import { addAuthenticatedGroup } from '../user-groups.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { unescapeKey } from '../unescape-key.ts';
import { createCertificateVerifier } from './certificate-verifier.ts';

/** Which headers a proxy names users with, all in lower case. Of several for one thing the first that is there counts. */
export interface FrontProxyHeaders {
  readonly user: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  /** What the headers of extra values begin with. */
  readonly extraPrefix: readonly string[];
}

export interface FrontProxyOptions {
  /** Who vouches for proxies. */
  readonly authorities: () => Authorities;
  /** The common names that proxies have; any when there are none. */
  readonly allowedNames: readonly string[];
  readonly headers: FrontProxyHeaders;
  readonly clock: Clock;
}

/**
 * A proxy that has found out who asks, and says so in headers. Only from a connection with a proxy's own certificate
 * are they read: from anybody else they say nothing at all, whatever stands in them.
 */
export function createFrontProxyAuthenticator({
  authorities,
  allowedNames,
  headers,
  clock,
}: FrontProxyOptions): Authenticator {
  const verify = createCertificateVerifier(authorities, clock);
  const isProxy = (chain: readonly Buffer[]): boolean => {
    if (chain.length === 0) return false;
    const answer = verify(chain);
    if ('untrusted' in answer) return false;
    return allowedNames.length === 0 || allowedNames.includes(answer.verified.subject('CN').at(-1) ?? '');
  };
  return {
    authenticate: (credentials) =>
      isProxy(credentials.clientCertificates) ? readUser(headers, credentials) : undefined,
  };
}

function readUser(headers: FrontProxyHeaders, credentials: Credentials): UserInfo | undefined {
  const name = readSingle(headers.user, credentials);
  if (name === undefined) return undefined;
  const uid = readSingle(headers.uid, credentials);
  const groups = headers.group.flatMap((header) => credentials.headerLines(header)).filter((group) => group !== '');
  const extra = readExtra(headers.extraPrefix, credentials);
  return addAuthenticatedGroup({
    name,
    ...(uid !== undefined && { uid }),
    groups: [...new Set(groups)],
    ...(Object.keys(extra).length > 0 && { extra }),
  });
}

/** A second line may be what the client sent through a proxy that adds its own and takes nothing away. */
function readSingle(names: readonly string[], credentials: Credentials): string | undefined {
  for (const name of names) {
    const lines = credentials.headerLines(name);
    if (lines.length > 1) throw new TokenRejectedError(`a front proxy sent the header ${name} more than once`);
    if (lines[0]) return lines[0];
  }
  return undefined;
}

function readExtra(prefixes: readonly string[], credentials: Credentials): Record<string, string[]> {
  const extra: Record<string, string[]> = {};
  for (const prefix of prefixes) {
    for (const [header, value] of credentials.headersFrom(prefix)) {
      const key = unescapeKey(header.slice(prefix.length));
      const values = getOwn(extra, key);
      if (values) values.push(value);
      else setOwn(extra, key, [value]);
    }
  }
  return extra;
}
