import type { Request } from '../test/hostile/requests.ts';
import type { Response } from './input.ts';

/** A connection that requests share. */
export interface SharedConnection {
  send(request: Request): Promise<Outcome>;
  close(): Promise<void>;
}

/** A response, or why there is none: something else ended the connection, or the server did what it must not. */
export type Outcome = { readonly response: Response } | { readonly lost: string } | { readonly fault: string };

/** Beyond every time limit that the server has for itself. */
export const hangMs = 30_000;
/** A stream without an end has said enough when it has begun. */
export const streamPatienceMs = 100;

/** Whether the response may be one that never ends; the server alone knows what becomes of an encoded query. */
export const mayBeStream = ({ target }: Request): boolean => /watch|%7[57]|%61/i.test(target);
