import type { RawCase } from '../test/hostile/case.ts';
import type { Field } from '../test/hostile/frames.ts';
import type { Request } from '../test/hostile/requests.ts';

/** One thing that the fuzzer sends. It depends on the seed, its number and the context, and on no input before it. */
export type Input = RequestInput | ConnectionInput | WebSocketInput;

/** A request that frames itself as it should; it shares a connection with others. */
export interface RequestInput {
  readonly form: 'request';
  readonly over: 'http/1.1' | 'h2';
  readonly request: Request;
  /** What an answer to it must never be; returns the fault. */
  readonly check?: (response: Response) => string | undefined;
}

/** Bytes on a connection of their own. */
export interface ConnectionInput {
  readonly form: 'connection';
  readonly case: RawCase;
}

export interface WebSocketInput {
  readonly form: 'web-socket';
  readonly opening: Buffer;
  /** Written one after the other. */
  readonly messages: readonly Buffer[];
}

export interface Response {
  readonly status: number;
  /** Names in lower case. */
  readonly fields: readonly Field[];
  readonly body: Buffer;
  /** False for a stream without an end, such as a watch, that the client has left. */
  readonly isWhole: boolean;
}

export const fieldOf = ({ fields }: Response, name: string): string | undefined =>
  fields.find(([field]) => field === name)?.[1];

/** What generators know of the server. */
export interface FuzzContext {
  /** Of an administrator. */
  readonly token: string;
  /** A signed one, of a service account without rights. */
  readonly serviceAccountToken: string;
  /** One that the server has made. */
  readonly continueToken: string;
}
