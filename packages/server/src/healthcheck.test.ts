import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';

const program = path.join(import.meta.dirname, 'healthcheck.ts');
let server: https.Server;

beforeAll(async () => {
  const { certificate, privateKey } = await createSelfSigned(
    { commonName: 'test', hosts: ['127.0.0.1'] },
    systemClock,
    systemRandom(),
  );
  server = https.createServer({ cert: certificate, key: privateKey }, (request, response) => {
    if (request.url === '/readyz') response.end('ok');
    else response.writeHead(503).end('[-]etcd failed: reason withheld');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterAll(async () => {
  server.close();
  await once(server, 'close');
});

const run = async (url: string): Promise<{ code: number | null; error: string }> => {
  const child = spawn(process.execPath, [program, url]);
  const [error, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return { code: code as number | null, error };
};
const urlOf = (rest: string): string => `https://127.0.0.1:${(server.address() as AddressInfo).port}${rest}`;

test('the health check succeeds if the server responds with 200, with any certificate', async () => {
  expect(await run(urlOf('/readyz'))).toEqual({ code: 0, error: '' });
});

test('the health check fails with the status and the body of any other response', async () => {
  const { code, error } = await run(urlOf('/down'));
  expect(code).toBe(1);
  expect(error).toContain('503 [-]etcd failed');
});

test('the health check fails with the reason if the port is closed', async () => {
  const { code, error } = await run('https://127.0.0.1:1/readyz');
  expect(code).toBe(1);
  expect(error).toContain('ECONNREFUSED');
});
