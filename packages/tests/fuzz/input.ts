import type { RawCase } from '../test/hostile/case.ts';
import type { Field } from '@cluster-apiserver/testkit/http2-frames';
import type { Request } from '../test/hostile/requests.ts';

/** One input of the fuzzer. It depends on the seed, its number and the context, not on earlier inputs. */
export type Input = RequestInput | ConnectionInput | WebSocketInput;

/** A well-framed request, which shares a connection with others. */
export interface RequestInput {
  readonly form: 'request';
  readonly over: 'http/1.1' | 'h2';
  readonly request: Request;
  /** Checks input-specific rules of the response; returns the fault. */
  readonly check?: (response: Response) => string | undefined;
}

/** Raw bytes on a separate connection. */
export interface ConnectionInput {
  readonly form: 'connection';
  readonly case: RawCase;
}

export interface WebSocketInput {
  readonly form: 'web-socket';
  readonly opening: Buffer;
  /** Written sequentially. */
  readonly messages: readonly Buffer[];
}

export interface Response {
  readonly status: number;
  /** Names are in lower case. */
  readonly fields: readonly Field[];
  readonly body: Buffer;
  /** False for an endless stream, such as a watch, that the client has left. */
  readonly isWhole: boolean;
}

export const fieldOf = ({ fields }: Response, name: string): string | undefined =>
  fields.find(([field]) => field === name)?.[1];

/** Server data that generators use. */
export interface FuzzContext {
  /** Token of an administrator. */
  readonly token: string;
  /** Signed token of a service account without permissions. */
  readonly serviceAccountToken: string;
  /** A continue token that the server issued. */
  readonly continueToken: string;
}
