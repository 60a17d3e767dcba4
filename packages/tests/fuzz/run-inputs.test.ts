import { afterEach, expect, test } from '@jest/globals';
import { CleanupStack, systemClock, systemRandom } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Request } from '../test/hostile/requests.ts';
import { inputAt } from './generate.ts';
import { runInputs, type Run } from './run-inputs.ts';
import { contextForTests as context } from './testing.ts';

// Servers with deliberate faults: a fuzzer that misses these would miss real ones.

/** A seed with a very long request early on. */
const seed = 3;
let cleanup = new CleanupStack();
afterEach(async () => {
  await cleanup.close();
  cleanup = new CleanupStack();
});

type Handle = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => void;

const numbersWhere = (isWanted: (request: Request) => boolean, count: number): number[] => {
  const found: number[] = [];
  for (let number = 0; found.length < count; number++) {
    const { input } = inputAt(seed, number, context);
    if (input.form === 'request' && input.over === 'h2' && isWanted(input.request)) found.push(number);
  }
  return found;
};

/** Only requests: inputs with their own connection reach Node's parser, which is not under test here. */
const requests = (over: 'h2' | 'http/1.1', count: number): number[] => {
  const found: number[] = [];
  for (let number = 0; found.length < count; number++) {
    const { input } = inputAt(seed, number, context);
    if (input.form !== 'request' || input.over !== over || input.request.method !== 'GET') continue;
    // Requests that Node itself refuses never reach a handler.
    const texts = [input.request.target, ...input.request.headers.flat()];
    if (!/watch|%/.test(input.request.target) && texts.every((text) => /^[!-~][ -~]{0,300}$/.test(text)))
      found.push(number);
  }
  return found;
};

async function run(handle: Handle, numbers: readonly number[], signal = new AbortController().signal): Promise<Run> {
  const { certificate, privateKey } = await createSelfSigned(
    { commonName: 'fake', hosts: ['127.0.0.1'] },
    systemClock,
    systemRandom(),
  );
  const server = createSecureServer({ cert: certificate, key: privateKey, allowHTTP1: true }, handle as never);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('sessionError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.defer('server', async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const target = { port: (server.address() as AddressInfo).port, ca: Buffer.from(certificate) };
  return runInputs(numbers, { seed, context, target, signal });
}

const answer =
  (status: number, body: string): Handle =>
  (_, response) => {
    (response as ServerResponse).writeHead(status, {
      'content-type': 'application/json',
      'content-length': body.length,
    });
    (response as ServerResponse).end(body);
  };
const statusBody = (code: number): string => JSON.stringify({ kind: 'Status', code });

test.each(['h2', 'http/1.1'] as const)('a correct server over %s has no faults', async (over) => {
  const { faults, outcomes } = await run(answer(404, statusBody(404)), requests(over, 40));
  expect(faults).toEqual([]);
  expect(outcomes['404']).toBeGreaterThan(30);
});

test.each(['h2', 'http/1.1'] as const)(
  'every internal error over %s is found with the number of its input',
  async (over) => {
    const numbers = requests(over, 40);
    const { faults } = await run(answer(500, statusBody(500)), numbers);
    expect(faults.length).toBeGreaterThan(30);
    expect(numbers).toEqual(expect.arrayContaining(faults.map(({ number }) => number)));
    expect(faults[0]?.text).toContain('status 500');
  },
);

test.each(['h2', 'http/1.1'] as const)('a Status with another code over %s is found', async (over) => {
  const { faults } = await run(answer(400, statusBody(404)), requests(over, 5));
  expect(faults.length).toBeGreaterThan(0);
});

test('a chunked response is complete when its last bytes arrive separately', async () => {
  const { faults, outcomes } = await run(
    (_, response) => {
      const { socket } = response as ServerResponse;
      socket?.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: text/plain\r\n\r\n4\r\ntext\r\n');
      setImmediate(() => socket?.write('0\r\n\r\n'));
    },
    requests('http/1.1', 5),
  );
  expect(faults).toEqual([]);
  expect(outcomes['200']).toBe(5);
});

test('a field that ends its session does not affect other requests', async () => {
  const tooLarge = numbersWhere(({ target }) => target.length > 65_536, 1);
  const { faults, outcomes } = await run(answer(404, statusBody(404)), [...tooLarge, ...requests('h2', 40)]);
  expect(faults).toEqual([]);
  expect(outcomes['404']).toBeGreaterThan(30);
  expect(outcomes['session ended by a field']).toBe(1);
});

test('a connection that is closed without a response is found', async () => {
  const numbers = requests('http/1.1', 10);
  const { faults, outcomes } = await run((request) => void request.socket.destroy(), numbers);
  expect(faults).toHaveLength(numbers.length);
  expect(faults[0]?.text).toContain('closed');
  expect(outcomes['connection closed']).toBe(numbers.length);
});

test('a stream that is reset with an internal error is found', async () => {
  const { faults } = await run(
    (_, response) => {
      (response as Http2ServerResponse).stream.close(2);
    },
    requests('h2', 10),
  );
  expect(faults.length).toBeGreaterThan(5);
  expect(faults[0]?.text).toContain('INTERNAL_ERROR');
});

test('a stopped run returns the inputs in flight', async () => {
  const stopping = new AbortController();
  const numbers = requests('h2', 20);
  const { faults, suspects } = await run(() => stopping.abort(), numbers, stopping.signal);
  expect(faults).toEqual([]);
  expect(suspects.toSorted((left, right) => left - right)).toEqual(numbers);
});
