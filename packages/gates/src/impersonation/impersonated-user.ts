import { getOwn, setOwn } from '@cluster-apiserver/base';
import { unescapeKey } from '../authentication/unescape-key.ts';

/** Whom a caller wants to be, as the headers of the request say. */
export interface ImpersonatedUser {
  readonly name: string;
  readonly uid: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** What all these headers begin with, whatever a proxy on the way makes of the rest. */
export const impersonationPrefix = 'impersonate';

/** Each part of a user is a question to the authorizers, which may be a call to somebody else. */
const partsMax = 1_000;

/** Headers that cannot be meant. The message is for the client, and shows no value. */
export class ImpersonationHeaderError extends Error {
  override readonly name = 'ImpersonationHeaderError';
}

/**
 * Reads all headers whose name begins with the prefix, each line of each, with its name in lower case; undefined when
 * there is none. A header of this family never goes unheeded: the request would then do as its caller what it was meant
 * to do as somebody else.
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
  // Two servers on the way that each take another one of them would disagree about who it is.
  if (names.length > 1 || uids.length > 1)
    throw new ImpersonationHeaderError('a user to impersonate has one name and one uid');
  const [name] = names;
  if (name === undefined)
    throw new ImpersonationHeaderError('groups, uid or extra were requested without impersonating a user');
  return { name, uid: uids[0], groups, extra };
}

const extraPrefix = 'impersonate-extra-';
