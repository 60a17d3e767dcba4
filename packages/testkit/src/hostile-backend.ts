/** What a backend can do to its clients instead of its work: webhooks, issuers of tokens, KMS plugins, trace collectors. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers a request of HTTP; `good` is the body that would be right. */
export type HostileAnswer = (response: ServerResponse, good: string) => void;

/** Writes as fast as the client reads, until it leaves. */
function flood(socket: Socket | null, first: string, piece: string): void {
  if (!socket) return;
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  socket.write(first);
  write();
}

/** Writes the text again and again, a byte at a time, until the client leaves. */
function drip(socket: Socket | null, text: string): void {
  let at = 0;
  const timer = setInterval(() => socket?.write(text[at++ % text.length] ?? ''), dripMs);
  socket?.on('close', () => clearInterval(timer));
}

const dripMs = 20;
const kilobytes = (count: number, text = 'x'): string => text.repeat((count * 1024) / text.length);

/** No answer ever: the client's time limit ends the request. */
export const waitingAnswers: Readonly<Record<string, HostileAnswer>> = {
  'says nothing': () => {},
  'sends its head a byte at a time': ({ socket }) => drip(socket, 'HTTP/1.1 200 OK\r\nA: b\r\nA: b\r\n'),
  'sends its body a byte at a time': ({ socket }) => {
    socket?.write('HTTP/1.1 200 OK\r\n\r\n');
    drip(socket, ' ');
  },
  'sends less than it announces': ({ socket }) => void socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'),
};

/** No complete answer of HTTP, or one that is too large. */
export const brokenAnswers: Readonly<Record<string, HostileAnswer>> = {
  'sends a body without end': ({ socket }) => flood(socket, 'HTTP/1.1 200 OK\r\n\r\n', kilobytes(64)),
  'sends chunks without end': ({ socket }) =>
    flood(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `4\r\n    \r\n`.repeat(100)),
  'sends headers without end': ({ socket }) => flood(socket, 'HTTP/1.1 200 OK\r\n', 'A: b\r\n'.repeat(100)),
  'sends interim answers without end': ({ socket }) => flood(socket, '', 'HTTP/1.1 103 Early\r\n\r\n'.repeat(10)),
  'sends 6 MiB': (response) => void response.end(kilobytes(6 * 1024, ' ')),
  'says what is no HTTP': ({ socket }) => void socket?.end('hello\r\n\r\n'),
  'changes the protocol': ({ socket }) =>
    void socket?.write('HTTP/1.1 101 Over\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nnoise'),
  'sends a header that is none': ({ socket }) =>
    void socket?.write('HTTP/1.1 200 OK\r\nA\u0001: b\r\nContent-Length: 0\r\n\r\n'),
  'announces two lengths': ({ socket }) =>
    void socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
  'announces a length and chunks': ({ socket }) =>
    void socket?.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n'),
  'sends a chunk that is none': ({ socket }) =>
    void socket?.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'),
  'closes the connection': ({ socket }) => void socket?.end(),
  'closes the connection in its body': ({ socket }, good) =>
    void socket?.end(`HTTP/1.1 200 OK\r\nContent-Length: ${good.length + 1}\r\n\r\n${good}`),
  'resets the connection': ({ socket }) => void socket?.destroy(),
};

/** The wrong status. */
export const wrongStatuses: Readonly<Record<string, HostileAnswer>> = Object.fromEntries(
  [204, 302, 401, 403, 404, 429, 500, 503].map((status) => [
    `answers with ${status}`,
    (response, good) =>
      void response.writeHead(status, { location: 'https://127.0.0.1:1/' }).end(status === 204 ? undefined : good),
  ]),
);

/** A status of success, with a body that is not the right one. */
export const wrongBodies: Readonly<Record<string, HostileAnswer>> = Object.fromEntries(
  Object.entries<(good: string) => string>({
    'sends nothing': () => '',
    'sends HTML': () => '<html>',
    'sends half of it': (good) => good.slice(0, good.length / 2),
    'sends it twice': (good) => good + good,
    'sends null': () => 'null',
    'sends a list': (good) => `[${good}]`,
    'sends a text': (good) => JSON.stringify(good),
    'sends an object without members': () => '{}',
    'sends another kind': () => JSON.stringify({ apiVersion: 'v1', kind: 'Other', status: {}, response: {}, keys: [] }),
    'sends deep lists': () => kilobytes(500, '['),
    'sends deep objects': () => `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
    'sends many members': () =>
      `{${Array.from({ length: 50_000 }, (_, at) => `"member-${at}":${at}`).join(',')},"status":1}`,
    'sends a long text': () => `{"kind":"${kilobytes(900)}"}`,
    'sends bytes that are no UTF-8': () => '\udc00'.repeat(1_000),
  }).map(([name, bodyOf]) => [name, (response, good) => void response.end(bodyOf(good))]),
);

/** Right answers in an unusual form. */
export const unusualAnswers: Readonly<Record<string, HostileAnswer>> = {
  'calls it HTML': (response, good) => void response.writeHead(200, { 'content-type': 'text/html' }).end(good),
  'sends a byte in each chunk': (response, good) => {
    for (const byte of good) response.write(byte);
    response.end();
  },
  'sends blanks around it': (response, good) => void response.end(`\r\n\t ${good} \n`),
};

/** Settings of HTTP/2, which are to be acknowledged. */
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]).toString('latin1').repeat(100);

/** What a peer that is no HTTP/2 server does with a connection, as for gRPC. */
export const hostilePeers: Readonly<Record<string, (socket: Socket) => void>> = {
  'says nothing': () => {},
  'sends a byte at a time': (socket) => drip(socket, 'x'),
  'sends noise without end': (socket) => flood(socket, '', kilobytes(64)),
  'sends settings without end': (socket) => flood(socket, '', settings),
  'sends settings without end and reads nothing': (socket) => flood(socket.pause(), '', settings),
  'announces a frame of 16 MiB': (socket) => void socket.write(Buffer.from([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])),
  'speaks HTTP/1.1': (socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'),
  'closes the connection': (socket) => void socket.end(),
  'resets the connection': (socket) => void socket.destroy(),
};
