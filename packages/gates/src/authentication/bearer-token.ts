import { chain } from '@cluster-apiserver/base';
import type { Authenticator, Credentials } from './authenticator.ts';
import type { TokenAnswer, TokenAuthenticator } from './token-authenticator.ts';
import { TokenRejectedError } from './token-rejected-error.ts';

/** Authenticates by bearer token. A request with an unknown token is rejected: it never becomes anonymous. */
export function createBearerTokenAuthenticator(tokens: TokenAuthenticator): Authenticator {
  const userOf = (answer: TokenAnswer | undefined, credentials: Credentials) => {
    if (!answer) throw new TokenRejectedError('unknown token');
    const { user, warning, annotations } = answer;
    if (warning !== undefined) credentials.warn(warning);
    for (const key in annotations) credentials.annotate(key, annotations[key] ?? '');
    return user;
  };
  return {
    authenticate: (credentials, call) => {
      const token = readBearerToken(credentials);
      return token === undefined
        ? undefined
        : chain(tokens.authenticateToken(token, call), (answer) => userOf(answer, credentials));
    },
  };
}

/** The token of `Authorization: Bearer`, including inner spaces; undefined if there is none. */
function readBearerToken(credentials: Credentials): string | undefined {
  const header = credentials.header('authorization')?.trim();
  if (header === undefined || !/^bearer /i.test(header)) return undefined;
  // A proxy in between may have evaluated the other one.
  if (credentials.headerLines('authorization').length > 1)
    throw new TokenRejectedError('the request has more than one Authorization header');
  return header.slice('bearer '.length).trimStart();
}
