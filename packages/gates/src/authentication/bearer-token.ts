import type { Credentials } from './authenticator.ts';

/** The token of an `Authorization: Bearer` header; undefined when there is none. */
export function bearerToken(credentials: Credentials): string | undefined {
  const header = credentials.header('authorization');
  if (header === undefined) return undefined;
  const match = /^ *bearer +([^ ]+) *$/i.exec(header);
  return match?.[1];
}
