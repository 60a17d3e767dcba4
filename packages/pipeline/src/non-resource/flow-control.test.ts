import { expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { compileFlowSchema, FlowControl, type FlowSeats } from '@cluster-apiserver/gates';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { askDocuments } from '../../test/ask-documents.ts';
import { flowControlRoutes } from './flow-control.ts';

const clock = fakeClock();
const ignore = (): void => {};
const control = new FlowControl({
  clock,
  seats: 2,
  waitMaxMs: 1_000,
  measures: { dispatched: ignore, rejected: ignore, waited: ignore },
});
const limitResponse = { type: 'Queue', queuing: { queues: 1, handSize: 1, queueLengthLimit: 1 } };
control.configure(
  [
    compileFlowSchema({
      metadata: { name: 'all', uid: 'u' },
      spec: {
        priorityLevelConfiguration: { name: 'work' },
        matchingPrecedence: 1,
        distinguisherMethod: { type: 'ByUser' },
      },
    }),
  ],
  [
    { metadata: { name: 'work' }, spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse } } },
    { metadata: { name: 'free' }, spec: { type: 'Exempt' } },
  ],
);
const request = {
  user: { name: 'ann', uid: undefined, groups: [], extra: {} },
  info: {
    verb: 'list',
    path: '/api/v1/namespaces/n/secrets',
    resource: { group: '', plural: 'secrets', subresource: undefined, namespace: 'n' },
  },
};

function ask(): FlowSeats | Promise<FlowSeats> {
  const flow = control.classify(request);
  if (!flow) throw new Error('no flow');
  return control.acquire(flow, request, 1, callUntil(clock.monotonicMs() + 60_000));
}

const dump = async (path: string): Promise<readonly string[][]> => {
  const document = askDocuments(flowControlRoutes(control, clock));
  const { text } = await document(`/debug/api_priority_and_fairness/${path}`);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/, */));
};

test('levels, queues and requests are shown as they are', async () => {
  const [first, second] = [ask(), ask()];
  const waiting = ask();
  await expect(ask()).rejects.toThrow('queue-full');
  expect((await dump('dump_priority_levels')).slice(1)).toEqual([
    ['work', '1', 'false', 'false', '1', '2', '2', '1', '0', '0'],
    ['free', '0', 'true', 'false', '0', '0', '0', '0', '0', '0'],
  ]);
  const [heads, queue] = await dump('dump_queues');
  expect(heads?.slice(0, 4)).toEqual(['PriorityLevelName', 'Index', 'PendingRequests', 'ExecutingRequests']);
  expect(queue?.slice(0, 5)).toEqual(['work', '0', '1', '1', '1']);
  const arrived = new Date(clock.now()).toISOString().slice(0, 19);
  expect((await dump('dump_requests')).slice(1)).toEqual([
    ['work', 'all', '0', '0', 'ann', expect.stringContaining(arrived), '1'],
  ]);
  const [, detailed] = await dump('dump_requests?includeRequestDetails=1');
  expect(detailed?.slice(7)).toEqual(['ann', 'list', '/api/v1/namespaces/n/secrets', 'n', '', 'secrets', '']);
  for (const seat of [first, second]) if (!(seat instanceof Promise)) seat?.release();
  (await waiting).release();
  expect((await dump('dump_requests')).length).toBe(1);
});
