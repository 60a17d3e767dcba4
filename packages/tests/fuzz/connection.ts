import type { Request } from '../test/hostile/requests.ts';
import type { Response } from './input.ts';

/** A connection that several requests share. */
export interface SharedConnection {
  send(request: Request): Promise<Outcome>;
  close(): Promise<void>;
}

/**
 * A response, or the reason for its absence: another cause ended the connection (`lost`), or the server misbehaved
 * (`fault`).
 */
export type Outcome = { readonly response: Response } | { readonly lost: string } | { readonly fault: string };

/** Longer than every time limit of the server. */
export const hangMs = 30_000;
/** An endless stream is left after this time. */
export const streamPatienceMs = 100;

/** Whether the response may be endless. Percent-encoding is matched loosely, because only the server decodes it. */
export const mayBeStream = ({ target }: Request): boolean => /watch|%7[57]|%61/i.test(target);
