import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { describeIf } from '../describe-if.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { type ClientProgram, hasRust, noClients, rustProgram, startProgram } from './client-programs.ts';
import { defineWidgets } from './widgets.ts';

// The calls are in kubers/src/main.rs.

describeIf(hasRust, 'kube-rs', noClients, () => {
  let server: TestServer;
  let program: ClientProgram;
  beforeAll(async () => {
    server = await serveKinds(kinds);
    await defineWidgets(server);
    const target = { url: server.url, ca: server.certificate, token: server.token };
    program = startProgram(rustProgram, ['KUBECONFIG', 'crabs'], target);
  });
  afterAll(async () => {
    await program.end();
    await server.close();
  });

  test('typed calls, and dynamic ones of a custom kind, cover the life of an object', async () => {
    expect(JSON.parse(await program.ask('calls'))).toEqual({
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
