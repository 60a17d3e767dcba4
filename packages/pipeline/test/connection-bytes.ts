/** What a response writer needs of its connection and its process, without limits. */
import { systemClock } from '@cluster-apiserver/base';
import { Budget } from '../src/listener/connection/budget.ts';
import type { ConnectionBytes, ProcessBytes } from '../src/listener/request/response-writer.ts';

export const processBytes: ProcessBytes = {
  nowMs: 0,
  responseBytes: new Budget(Number.POSITIVE_INFINITY),
  longResponses: new Budget(Number.POSITIVE_INFINITY),
  clock: systemClock,
  loop: { turn: () => undefined },
  draining: new AbortController().signal,
};

export const createConnection = (): ConnectionBytes => ({
  owner: 'ann',
  sentResponseBytes: 0,
  responseBytes: new Budget(Number.POSITIVE_INFINITY, processBytes.responseBytes),
});
