import { hash } from 'node:crypto';
import type { UserInfo } from '@cluster-apiserver/model';
import { addAuthenticatedGroup } from './user-groups.ts';
import type { TokenAuthenticator } from './token-authenticator.ts';

/** The problems of a token file; messages never contain a token. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
  }
}

/**
 * Authenticates by a file with lines of `token,user,uid` or `token,user,uid,"group1,group2"`. Tokens are looked up by hash,
 * so neither timing nor a memory dump reveals more than their length. Only tokens of a known length are hashed: other
 * tokens are longer, and part of nearly every request.
 */
export function createStaticTokenAuthenticator(file: string): TokenAuthenticator {
  const { users, lengths } = readUsers(file);
  return {
    authenticateToken: (token) => {
      const user = lengths.has(token.length) ? users.get(hashOf(token)) : undefined;
      return user && { user };
    },
  };
}

const hashOf = (token: string): string => hash('sha256', token, 'base64');

interface Users {
  /** By hash of the token. */
  readonly users: ReadonlyMap<string, UserInfo>;
  /** Lengths of all tokens. */
  readonly lengths: ReadonlySet<number>;
}

function readUsers(file: string): Users {
  const users = new Map<string, UserInfo>();
  const lengths = new Set<number>();
  const problems: string[] = [];
  for (const [index, line] of file.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const where = `line ${index + 1}`;
    const cells = splitCsvLine(line);
    const [token = ''] = cells ?? [];
    if (!cells) problems.push(`${where}: a quote is not closed`);
    else if (cells.length < 3)
      problems.push(`${where}: expected token,user,uid and perhaps "groups", found ${cells.length} of them`);
    else if (token === '') problems.push(`${where}: the token is empty`);
    else if (users.has(hashOf(token))) problems.push(`${where}: its token stands on an earlier line too`);
    else {
      users.set(hashOf(token), toUser(cells));
      lengths.add(token.length);
    }
  }
  if (problems.length > 0) throw new TokenFileError(problems);
  return { users, lengths };
}

function toUser([, name = '', uid = '', groups = '']: readonly string[]): UserInfo {
  const named = groups
    .split(',')
    .map((group) => group.trim())
    .filter((group) => group !== '');
  return addAuthenticatedGroup({ name, ...(uid && { uid }), groups: [...new Set(named)] });
}

/** The cells of one CSV line; undefined if a quote is not closed. A doubled quote inside quotes is one quote. */
function splitCsvLine(line: string): string[] | undefined {
  const cells: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(?:,|$)/.exec(rest);
    if (!quoted && /^\s*"/.test(rest)) return undefined;
    const [whole = '', cell = ''] = quoted ?? /^([^,]*)(?:,|$)/.exec(rest) ?? [];
    cells.push(quoted ? cell.replaceAll('""', '"') : cell.trim());
    if (!whole.endsWith(',')) return cells;
    rest = rest.slice(whole.length);
  }
}
