import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { describeIf } from '../describe-if.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { type ClientProgram, hasPython, noClients, python, pythonScript, startProgram } from './client-programs.ts';
import { defineWidgets } from './widgets.ts';

// The steps are in python/client.py.

const namespace = 'snakes';

describeIf(hasPython, "Python's official client", noClients, () => {
  let server: TestServer;
  let program: ClientProgram;
  beforeAll(async () => {
    server = await serveKinds(kinds);
    await defineWidgets(server);
    const target = { url: server.url, ca: server.certificate, token: server.token };
    program = startProgram(python, [pythonScript, 'KUBECONFIG', namespace], target);
  });
  afterAll(async () => {
    await program.end();
    await server.close();
  });

  const answerOf = async (step: string): Promise<unknown> => JSON.parse(await program.ask(step));

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
