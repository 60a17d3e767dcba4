/** What a response writer needs of its connection and its process, without limits. */
import { MemoryBudget } from '../src/listener/connection/memory-budget.ts';
import type { ConnectionBytes, ProcessBytes } from '../src/listener/request/response-writer.ts';

export const processBytes: ProcessBytes = {
  nowMs: 0,
  responseBytes: new MemoryBudget(Number.POSITIVE_INFINITY),
  loop: { turn: () => undefined },
  draining: new AbortController().signal,
};

export const createConnection = (): ConnectionBytes => ({
  owner: 'ann',
  sentResponseBytes: 0,
  responseBytes: new MemoryBudget(Number.POSITIVE_INFINITY, processBytes.responseBytes),
});
