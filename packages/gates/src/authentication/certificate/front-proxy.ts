import { type Clock, getOwn, setOwn } from '@cluster-apiserver/base';
import type { Authorities } from '@cluster-apiserver/certificates';
import type { UserInfo } from '@cluster-apiserver/model';
import type { Authenticator, Credentials } from '../authenticator.ts';
import { addAuthenticatedGroup } from '../user-groups.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { unescapeKey } from '../unescape-key.ts';
import { createCertificateVerifier } from './certificate-verifier.ts';

/** The headers with which a proxy names users, in lower case. The first one present is used. */
export interface FrontProxyHeaders {
  readonly user: readonly string[];
  readonly uid: readonly string[];
  readonly group: readonly string[];
  /** Prefixes of the headers with extra values. */
  readonly extraPrefix: readonly string[];
}

export interface FrontProxyOptions {
  /** CAs of proxy certificates. */
  readonly authorities: () => Authorities;
  /** Allowed common names; empty allows all. */
  readonly allowedNames: readonly string[];
  readonly headers: FrontProxyHeaders;
  readonly clock: Clock;
}

/**
 * Authenticates by headers of a front proxy. They are trusted only on connections with a valid proxy certificate, and
 * ignored on all others.
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

/** Rejects repeated headers: a second one may come from the client, through a proxy that does not remove it. */
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
