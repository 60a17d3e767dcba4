import { expect, test } from '@jest/globals';
import { describeIf } from '../describe-if.ts';
import { hasRust, noClients, rustProgram } from './client-programs.ts';
import { useClient } from './use-client.ts';

// The calls are in kubers/src/main.rs.

describeIf(hasRust, 'kube-rs', noClients, () => {
  const answerOf = useClient(rustProgram, ['KUBECONFIG', 'crabs']);

  test('typed calls, and dynamic ones of a custom kind, cover the life of an object', async () => {
    expect(await answerOf('calls')).toEqual({
      typed: {
        strategic: { a: '1', b: '2' },
        stale: [409, 'Conflict'],
        applied: { a: '1', b: '2' },
        listed: 1,
        gone: true,
      },
      dynamic: {
        refused: [422, 'Invalid'],
        conflict: [409, 'Conflict'],
        applied: { size: 2 },
        status: { ready: true },
        gone: true,
      },
    });
  });
});
