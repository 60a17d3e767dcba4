/** `npm run links`: links of the pages to those of others. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';

const script = path.resolve(import.meta.dirname, '..', '..', '..', 'toolchain', 'links.mjs');
const run = (...args: readonly string[]): Promise<{ readonly stdout: string }> =>
  promisify(execFile)(process.execPath, [script, ...args]);

const server = http.createServer(({ url, socket }, response) => {
  if (url === '/cut') socket.destroy();
  else if (url === '/moved') response.writeHead(301, { location: '/there' }).end();
  else response.writeHead({ '/there': 200, '/refused': 403 }[String(url)] ?? 404).end();
});
let at: string;
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

test('pages that are there, elsewhere, or not for programs are found', async () => {
  const { stdout } = await run(`${at}/there`, `${at}/moved`, `${at}/refused`);
  expect(stdout).toBe('All 3 links lead somewhere.\n');
});

test('pages that are gone, and servers that do not answer, are named', async () => {
  await expect(run(`${at}/there`, `${at}/gone`, `${at}/cut`)).rejects.toMatchObject({
    code: 1,
    stderr: `Links lead nowhere:\n${at}/cut: UND_ERR_SOCKET, in argument\n${at}/gone: status 404, in argument\n`,
  });
});

/** Addresses that others have replaced. */
const formerHosts = /^(www\.)?(godoc\.org|k8s\.io|coreos\.com|rancher\.com|etcd\.readthedocs\.io)$/;

test('links are complete addresses, once each', async () => {
  const { stdout } = await run('--list');
  const links = stdout.trim().split('\n');
  expect(links.length).toBeGreaterThan(10);
  const urls = new Set(links.map((link) => link.split(' ')[1] ?? ''));
  const isWrong = (url: string): boolean =>
    !URL.canParse(url) ||
    !url.startsWith('https://') ||
    /[.,;:!?'"]$/.test(url) ||
    formerHosts.test(new URL(url).hostname) ||
    // The same page under another address.
    urls.has(`${url}/`);
  expect([...urls].filter(isWrong)).toEqual([]);
});
