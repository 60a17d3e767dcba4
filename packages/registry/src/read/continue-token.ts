import { badRequest } from '@cluster-apiserver/model';
import { type Revision, revision } from '@cluster-apiserver/storage';

/**
 * Where a list continues: after which key of its range, and at which revision. Tokens are valid on every replica. A
 * forged token cannot leave the range, because the key is appended to the prefix of the list.
 */
export interface Continuation {
  /** The last key of the previous chunk, relative to the prefix of the list. */
  readonly after: string;
  /** Undefined for the latest revision, after the first snapshot has expired. */
  readonly revision: Revision | undefined;
}

const version = 'meta.k8s.io/v1';
/** Appended to a key, it gives the next possible key. */
const end = '\0';
/** Stands for the latest revision. */
const latest = -1;

export const encodeContinue = ({ after, revision: at }: Continuation): string =>
  Buffer.from(JSON.stringify({ v: version, rv: at ?? latest, start: `${after}${end}` })).toString('base64url');

export function decodeContinue(token: string): Continuation {
  const { v, rv, start } = parseToken(token);
  if (v !== version) throw invalidToken('unknown version');
  if (typeof rv !== 'number' || !Number.isSafeInteger(rv) || rv === 0) throw invalidToken('missing resource version');
  if (typeof start !== 'string' || start === '') throw invalidToken('missing start key');
  const after = start.endsWith(end) ? start.slice(0, -1) : start;
  if (after.split('/').some((segment) => segment === '..' || segment === '.'))
    throw invalidToken('start key out of range');
  return { after, revision: rv > 0 ? revision(rv) : undefined };
}

function parseToken(token: string): { readonly v?: unknown; readonly rv?: unknown; readonly start?: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below: it is not a token of this server.
  }
  throw invalidToken('not a token of this server');
}

const invalidToken = (problem: string): Error =>
  badRequest(`invalid continue token: continue key is not valid: ${problem}`);
