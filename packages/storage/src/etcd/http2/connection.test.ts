import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, test } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, integer, nat, oneof, sample, tuple } from 'fast-check';
import { systemClock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { serverUsage, testAuthority } from '../../../../certificates/test/test-authority.ts';
import { ask, fateOf, requestHeaders, useConnections } from '../../../test/use-connections.ts';
import { Connection } from './connection.ts';

const connections = useConnections();

/** Node's HTTP/2, which is somebody else's, on the other side. */
async function peer(
  settings: NonNullable<Parameters<typeof createServer>[0]>['settings'],
  answer: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => unknown,
): Promise<Connection> {
  // Its default limit of 10 MB would refuse these concurrent requests.
  const server = createServer({ settings, maxSessionMemory: 1_000 });
  server.on('session', (session) => connections.closeLater(() => session.destroy()));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    answer(stream, headers);
  });
  return connections.connectTo(server);
}

async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

test('decodes the headers of another implementation: Huffman-coded, indexed and evicted', async () => {
  const everyLetter = String.fromCharCode(
    ...Array.from({ length: 256 }, (_, code) => code).filter((code) => code > 32 && code !== 127),
  );
  const anyText = tuple(nat(everyLetter.length - 1), integer({ min: 1, max: 60 }), integer({ min: 1, max: 4 })).map(
    ([start, length, times]) => everyLetter.slice(start, start + length).repeat(times),
  );
  // Again and again the same, which the peer sends as an index.
  const known = sample(anyText, { numRuns: 40, seed: 11 });
  const anyHeader = tuple(nat(39), oneof(constantFrom(...known), anyText));
  const anyHeaders = array(anyHeader, { maxLength: 26, size: 'max' }).map(
    (chosen): Record<string, string> => Object.fromEntries(chosen.map(([n, value]) => [`x-name-${n}`, value])),
  );
  await assert(
    asyncProperty(array(anyHeaders, { minLength: 1, maxLength: 50, size: 'max' }), async (responses) => {
      const left = responses.values();
      const connection = await peer({}, (stream) => {
        stream.respond({ ':status': 200, ...left.next().value });
        stream.end('answer');
      });
      for (const headers of responses) {
        const asked = ask(connection, Buffer.from('question'));
        expect(String(await asked.body)).toBe('answer');
        expect(Object.fromEntries(asked.headers[0] ?? [])).toMatchObject({ ':status': '200', ...headers });
      }
      connection.destroy();
    }),
    // Shrinking opens a connection for each attempt, and has to end before Jest's patience does.
    { numRuns: 10, seed: 11, interruptAfterTimeLimit: 20_000, markInterruptAsFailure: true },
  );
});

test('a header block of several frames is decoded', async () => {
  const long = 'x'.repeat(40_000);
  const connection = await peer({}, (stream) => {
    stream.respond({ ':status': 200, long });
    stream.end();
  });
  const asked = ask(connection, Buffer.from('question'));
  await asked.body;
  expect(asked.headers[0]?.get('long')).toBe(long);
});

test('a large request passes small windows, and does not delay small ones', async () => {
  const large = Buffer.alloc(1_500_000, 'large');
  const connection = await peer({ initialWindowSize: 1_000 }, async (stream) => {
    const question = await readAll(stream);
    stream.respond({ ':status': 200 });
    stream.end(question.length < 100 ? question : String(question.equals(large)));
  });
  const order: string[] = [];
  const largeBody = ask(connection, large).body.then((body) => order.push(String(body)));
  const small = Array.from({ length: 20 }, (_, n) =>
    ask(connection, Buffer.from(`small ${n}`)).body.then((body) => order.push(String(body))),
  );
  await Promise.all([largeBody, ...small]);
  expect(order.at(-1)).toBe('true');
  expect(order.slice(0, -1).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `small ${n}`).sort());
});

test('a changed initial window size is respected', async () => {
  const connection = await peer({ initialWindowSize: 10 }, async (stream) => {
    stream.session?.settings({ initialWindowSize: 100_000 });
    const question = await readAll(stream);
    stream.session?.settings({ initialWindowSize: 7 });
    stream.respond({ ':status': 200 });
    stream.end(String(question.length));
  });
  for (let n = 0; n < 5; n++) expect(String(await ask(connection, Buffer.alloc(200_000)).body)).toBe('200000');
});

test('many large concurrent responses arrive complete', async () => {
  const answer = Buffer.alloc(9_000_000, 'an answer');
  const connection = await peer({}, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end(answer);
  });
  const bodies = await Promise.all(Array.from({ length: 6 }, () => ask(connection, Buffer.from('question')).body));
  for (const body of bodies) expect(body.equals(answer)).toBe(true);
});

test('no more streams are open than the peer allows, and one cancelled while waiting is never sent', async () => {
  const open: ServerHttp2Stream[] = [];
  let openMost = 0;
  let heard = 0;
  const connection = await peer({ maxConcurrentStreams: 2 }, (stream) => {
    heard++;
    open.push(stream);
    openMost = Math.max(openMost, open.length);
  });
  const answerOne = (): void => {
    const stream = open.shift();
    stream?.respond({ ':status': 200 });
    stream?.end('answer');
  };
  // The first response arrives after the settings.
  const first = ask(connection, Buffer.from('question'));
  await until('the first question', () => open.length === 1 || undefined);
  answerOne();
  await first.body;
  const asked = Array.from({ length: 10 }, () => ask(connection, Buffer.from('question')));
  await until('two questions', () => open.length === 2 || undefined);
  expect(asked.map(({ stream }) => stream.isSent)).toEqual([true, true, ...Array.from({ length: 8 }, () => false)]);
  asked[5]?.stream.cancel();
  for (let answered = 0; answered < 9; answered++) {
    await until('a question', () => open.length > 0 || undefined);
    answerOne();
  }
  const others = asked.filter((_, n) => n !== 5);
  expect(await Promise.all(others.map(fateOf))).toEqual(others.map(() => 'answer'));
  expect([openMost, heard]).toEqual([2, 10]);
});

test('a response before the end of the request ends the request', async () => {
  let heardBytes = 0;
  const connection = await peer({ initialWindowSize: 10 }, (stream) => {
    stream.once('data', (piece: Buffer) => {
      heardBytes += piece.length;
      stream.pause();
      stream.respond({ ':status': 200 });
      stream.end('enough');
    });
  });
  for (let n = 0; n < 3; n++) expect(String(await ask(connection, Buffer.alloc(100_000)).body)).toBe('enough');
  expect(heardBytes).toBeLessThan(50_000);
});

test('after GOAWAY new requests are unsent, and open ones get their responses', async () => {
  const open: ServerHttp2Stream[] = [];
  const connection = await peer({}, (stream) => {
    open.push(stream);
  });
  const first = ask(connection, Buffer.from('question'));
  await until('the question', () => open.length === 1 || undefined);
  const [stream] = open;
  stream?.session?.goaway(0, stream.id);
  await until('the goodbye', () => !connection.isUsable || undefined);
  stream?.respond({ ':status': 200 });
  stream?.end('answer');
  expect(await fateOf(first)).toBe('answer');
});

test('another implementation without a dynamic table decodes the headers', async () => {
  const connection = await peer({ headerTableSize: 0 }, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('answer');
  });
  for (let n = 0; n < 3; n++) expect(String(await ask(connection, Buffer.from('question')).body)).toBe('answer');
});

test('a connection without HTTP/2 in ALPN is closed', async () => {
  const authority = await testAuthority('authority');
  const { certificate, privateKey } = await authority.issue({
    subject: [['CN', 'peer']],
    usages: [serverUsage],
    hosts: ['127.0.0.1'],
  });
  const server = createTlsServer({ cert: certificate, key: privateKey }, (socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = new Connection(`https://127.0.0.1:${port}`, { ca: authority.certificate }, systemClock);
  connections.closeLater(() => server.close());
  connections.closeLater(() => connection.destroy());
  const { promise, resolve } = Promise.withResolvers<string>();
  connection.open(requestHeaders, {
    onHeaders: () => {},
    onData: () => {},
    onEnd: () => resolve('ended'),
    onLost: (kind, cause) => resolve(`${kind}: ${cause?.message}`),
  });
  expect(await promise).toBe('unsent: 127.0.0.1 did not agree to HTTP/2 in its TLS handshake (ALPN)');
});
