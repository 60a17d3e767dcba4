import { expect, test } from '@jest/globals';
import { describeIf } from '../describe-if.ts';
import { hasPython, noClients, python, pythonScript } from './client-programs.ts';
import { useClient } from './use-client.ts';

// The steps are in python/client.py.

const namespace = 'snakes';

describeIf(hasPython, "Python's official client", noClients, () => {
  const answerOf = useClient(python, [pythonScript, 'KUBECONFIG', namespace]);

  test('typed calls cover the life of an object', async () => {
    expect(await answerOf('typed')).toEqual({
      created: 'UTC',
      strategic: { a: '1', b: '2' },
      patched: true,
      stale: [409, 'Conflict'],
      replaced: { a: '3', b: '2', c: '4' },
      gone: [404, 'Not Found'],
    });
  });

  test('lists are paginated, and collections deleted', async () => {
    expect(await answerOf('pages')).toEqual({
      pages: [['page-0', 'page-1'], ['page-2', 'page-3'], ['page-4']],
      left: 0,
    });
  });

  test('a watch delivers typed objects', async () => {
    expect(await answerOf('watched')).toEqual([
      ['ADDED', 'V1ConfigMap', { a: '1' }],
      ['MODIFIED', 'V1ConfigMap', { a: '2' }],
      ['DELETED', 'V1ConfigMap', { a: '2' }],
    ]);
  });

  test('the dynamic client finds a custom kind, and creates, patches, applies, watches and deletes its objects', async () => {
    expect(await answerOf('dynamic')).toEqual({
      merged: 2,
      refused: [422, 'Unprocessable Entity'],
      conflict: [409, 'Conflict'],
      applied: 3,
      status: { ready: true },
      listed: [['Widget', 'dynamic']],
      seen: [
        ['MODIFIED', 2],
        ['MODIFIED', 3],
        ['MODIFIED', 3],
        ['DELETED', 3],
      ],
      gone: [404, 'Not Found'],
    });
  });
});
