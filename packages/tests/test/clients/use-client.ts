import { afterAll, beforeAll } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { type ClientProgram, startProgram } from './client-programs.ts';
import { defineWidgets } from './widgets.ts';

/** Starts a program beside a server with the custom kind, for a group of tests. Returns what asks it for a step. */
export function useClient(program: string, args: readonly string[]): (step: string) => Promise<unknown> {
  let server: TestServer;
  let client: ClientProgram;
  beforeAll(async () => {
    server = await serveKinds(kinds);
    await defineWidgets(server);
    client = startProgram(program, args, { url: server.url, ca: server.certificate, token: server.token });
  });
  afterAll(async () => {
    await client.end();
    await server.close();
  });
  return async (step) => JSON.parse(await client.ask(step));
}
