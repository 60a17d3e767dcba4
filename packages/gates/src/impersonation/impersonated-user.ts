import { getOwn, setOwn } from '@cluster-apiserver/base';
import { unescapeKey } from '../authentication/unescape-key.ts';

/** The user that the impersonation headers name. */
export interface ImpersonatedUser {
  readonly name: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** Prefix of all impersonation headers. */
export const impersonationPrefix = 'impersonate';

/** Each part of a user is checked by the authorizers, which may call a webhook. */
const partsMax = 1_000;

/** Invalid impersonation headers. The message is for the client and contains no values. */
export class ImpersonationHeaderError extends Error {
  override readonly name = 'ImpersonationHeaderError';
}

/**
 * Reads all header lines with the prefix, names in lower case; undefined if there are none. An unknown header is an error:
 * ignoring it would run the request as its sender.
 */
export function readImpersonatedUser(
  lines: readonly (readonly [name: string, value: string])[],
): ImpersonatedUser | undefined {
  if (lines.length === 0) return undefined;
  if (lines.length > partsMax)
    throw new ImpersonationHeaderError(`a request can carry at most ${partsMax} impersonation headers`);
  const [names, uids, groups]: [string[], string[], string[]] = [[], [], []];
  const extra: Record<string, string[]> = {};
  for (const [header, value] of lines) {
    if (value === '') throw new ImpersonationHeaderError(`the header ${header} is empty`);
    if (header === 'impersonate-user') names.push(value);
    else if (header === 'impersonate-uid') uids.push(value);
    else if (header === 'impersonate-group') groups.push(value);
    else if (header.startsWith(extraPrefix) && header.length > extraPrefix.length) {
      const key = unescapeKey(header.slice(extraPrefix.length));
      const values = getOwn(extra, key);
      if (values) values.push(value);
      else setOwn(extra, key, [value]);
    } else throw new ImpersonationHeaderError(`the header ${header} is not known`);
  }
  // A proxy might use another one of repeated headers than this server.
  if (names.length > 1 || uids.length > 1)
    throw new ImpersonationHeaderError('a user to impersonate has one name and one uid');
  const [name] = names;
  if (name === undefined)
    throw new ImpersonationHeaderError('groups, uid or extra were requested without impersonating a user');
  return { name, uid: uids[0], groups, extra };
}

const extraPrefix = 'impersonate-extra-';
