import { expect, test } from '@jest/globals';
import { DeadlineExceededError } from '@cluster-apiserver/base';
import { badRequest } from '@cluster-apiserver/model';
import { ClientGoneError } from '../exchange.ts';
import { toStatusError } from './error-responses.ts';

const stackOverflow = (): unknown => {
  const fall = (): number => fall() + 1;
  try {
    return fall();
  } catch (error) {
    return error;
  }
};

test.each<[string, unknown, number]>([
  ['an answer', badRequest('no'), 400],
  ['a deadline that has passed', new DeadlineExceededError(), 504],
  ['a client that has left', new ClientGoneError('gone'), 504],
  // The nesting of requests is bounded by the parser, so this is an internal error.
  ['the end of the stack', stackOverflow(), 500],
  ['a number out of range', new RangeError('toFixed() digits argument must be between 0 and 100'), 500],
  ['any other error', new TypeError('x'), 500],
])('%s leaves as a Status', (_, error, code) => {
  expect(toStatusError(error).code).toBe(code);
});
