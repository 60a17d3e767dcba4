import { expect, test } from '@jest/globals';
import { DeadlineExceededError, LatencyTracker, systemClock as clock } from '@cluster-apiserver/base';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import { KeyUnavailableError } from '@cluster-apiserver/storage';
import { type ApiRequest, ClientGoneError } from '../exchange.ts';
import { answer } from './answer.ts';
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
  ['an object that a stage cannot read at present', new KeyUnavailableError('no key'), 503],
  // The nesting of requests is bounded by the parser, so this is an internal error.
  ['the end of the stack', stackOverflow(), 500],
  ['a number out of range', new RangeError('toFixed() digits argument must be between 0 and 100'), 500],
  ['any other error', new TypeError('x'), 500],
])('%s leaves as a Status', (_, error, code) => {
  expect(toStatusError(error).code).toBe(code);
});

test.each<[string, unknown, number]>([
  ['an internal error is reported once', new TypeError('x'), 1],
  ['an error with the code 500 is reported once', new StatusError('InternalError', 'x'), 1],
  ['an error that is logged already is not reported', new StatusError('InternalError', 'x', {}, { isLogged: true }), 0],
  ['a client error is not reported', badRequest('no'), 0],
])('%s', async (_, error, reports) => {
  const reported: unknown[] = [];
  const handler = answer(
    {
      clock,
      allowedOrigin: () => false,
      measures: { record: () => {} },
      requestLog: { logsAll: false, ended: () => {} },
      report: (one) => void reported.push(one),
    },
    () => {
      throw error;
    },
  );
  const request = { method: 'GET', target: '/', header: () => undefined } as Partial<ApiRequest> as ApiRequest; // nothing else is read
  await handler({ request, latency: new LatencyTracker(clock) });
  expect(reported).toHaveLength(reports);
});
