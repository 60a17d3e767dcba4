import type { Random } from '@cluster-apiserver/base';
import type { Request } from '../../test/hostile/requests.ts';
import type { FuzzContext, Input, RequestInput } from '../input.ts';

export type Generator = (random: Random, context: FuzzContext) => Input;

type Parts = Partial<Request> & { readonly target: string };

/** An administrator's request, over a random protocol. */
export function request(
  random: Random,
  { token }: FuzzContext,
  { method = 'GET', target, headers = [], body }: Parts,
  check?: RequestInput['check'],
): RequestInput {
  const known = headers.some(([name]) => name === 'authorization');
  return {
    form: 'request',
    over: random.below(3) === 0 ? 'http/1.1' : 'h2',
    request: {
      method,
      target,
      headers: known ? headers : [['authorization', `Bearer ${token}`], ...headers],
      body,
    },
    ...(check && { check }),
  };
}
