import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Clock, systemClock, systemRandom } from '@cluster-apiserver/base';
import { createSelfSigned } from '@cluster-apiserver/certificates';
import type { HttpsResponse } from '@cluster-apiserver/testkit/https-request';
import { preface, settings } from '@cluster-apiserver/testkit/http2-frames';
import { afterEach, expect } from '@jest/globals';
import {
  type ApiRequest,
  type ApiResponse,
  BodyTooLargeError,
  BodyTooSlowError,
  type Handler,
} from '../src/exchange.ts';
import { defaultStreamsMax } from '../src/listener/limits.ts';
import type { ListenerMeasures } from '../src/listener/measures.ts';
import { noListenerMeasures } from './no-listener-measures.ts';
import { type Listener, type ListenOptions, listen } from '../src/listener/listener.ts';
import { refusalResponse } from '../src/listener/request/refusal.ts';
import type { ServingCertificate } from '../src/listener/serving-certificate.ts';

/** A listener on a free port, and clients that can misbehave. */
export interface Served {
  readonly listener: Listener;
  readonly reports: string[];
  /** A socket after the handshake, on which any bytes can be sent. */
  raw(): Promise<RawClient>;
  http2(): ClientHttp2Session;
  /**
   * An HTTP/2 connection after its settings, on which single frames can be sent; Node's client is too correct to
   * attack.
   */
  frames(): Promise<RawClient>;
  close(): Promise<void>;
}

export interface RawClient {
  readonly socket: TLSSocket;
  send(text: string | Buffer): void;
  /** Everything received so far. */
  received(): string;
  receivedBytes(): number;
  until(pattern: RegExp): Promise<string>;
  /** Everything received until the server closed the connection. */
  ended(): Promise<string>;
}

export async function certificateFor(commonName: string): Promise<ServingCertificate> {
  const { certificate, privateKey } = await createSelfSigned(
    { commonName, hosts: ['127.0.0.1'] },
    systemClock,
    systemRandom(),
  );
  return { cert: Buffer.from(certificate), key: Buffer.from(privateKey) };
}

/** The body, also if it is there already. */
export const bodyOf = async (request: ApiRequest, limitBytes: number): Promise<Buffer> => request.body(limitBytes);

/** Starts listeners, which are closed after each test. */
export function useListener(): typeof serve {
  const open: Served[] = [];
  afterEach(async () => {
    for (const served of open.splice(0)) await served.close();
  });
  return async (...args) => {
    const served = await serve(...args);
    open.push(served);
    return served;
  };
}

export async function serve(
  handler: Handler<ApiRequest>,
  clock: Clock = systemClock,
  options: Partial<ListenOptions> = {},
): Promise<Served> {
  const reports: string[] = [];
  const listener = await listen(
    {
      host: '127.0.0.1',
      port: 0,
      certificate: await certificateFor('first'),
      requestsCertificates: false,
      clock,
      random: systemRandom(),
      goawayChance: 0,
      streamsMax: defaultStreamsMax,
      connectionsPerPeerMax: 0,
      measures: noListenerMeasures,
      reportRefusal: () => {},
      report: (what, error, request) =>
        reports.push([what, ...(request ? [request.method, request.path] : []), `${error}`].join(': ')),
      ...options,
    },
    // The handler chain responds to refused requests.
    (request) => (request.refusal ? refusalResponse(request.refusal) : handler(request)),
  );
  const sockets: TLSSocket[] = [];
  const sessions: ClientHttp2Session[] = [];
  const open = async (protocol: string): Promise<RawClient> => {
    const client = await rawClient(listener.port, protocol);
    sockets.push(client.socket);
    return client;
  };
  return {
    listener,
    reports,
    raw: () => open('http/1.1'),
    frames: async () => {
      const client = await open('h2');
      client.send(Buffer.concat([preface, settings()]));
      return client;
    },
    http2: () => {
      const session = connectHttp2(`https://127.0.0.1:${listener.port}`, { rejectUnauthorized: false });
      session.on('error', () => {});
      sessions.push(session);
      return session;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      for (const session of sessions) session.destroy();
      await listener.close(0);
    },
  };
}

/** `GET https / a` and `POST https / a` by their places in HPACK's static table, the authority spelled out. */
export const packed = {
  get: Buffer.from([0x82, 0x87, 0x84, 0x01, 0x01, 0x61]),
  getOf: (path: string): Buffer<ArrayBuffer> =>
    Buffer.concat([Buffer.from([0x82, 0x87, 0x04, path.length]), Buffer.from(path), Buffer.from([0x01, 0x01, 0x61])]),
  post: Buffer.from([0x83, 0x87, 0x84, 0x01, 0x01, 0x61]),
};
export async function rawClient(port: number, protocol: string): Promise<RawClient> {
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
    allowHalfOpen: true,
  } as never);
  await once(socket, 'secureConnect');
  const pieces: Buffer[] = [];
  let bytes = 0;
  let ended = false;
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const end = (): void => {
    ended = true;
    changed();
  };
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    bytes += piece.length;
    changed();
  });
  socket.on('end', end);
  socket.on('close', end);
  socket.on('error', () => {});
  const received = (): string => Buffer.concat(pieces).toString('latin1');
  const when = (fact: () => boolean): Promise<string> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (fact()) resolve(received());
        else if (ended) reject(new Error(`the connection ended with: ${received()}`));
        else return;
        listeners.delete(check);
      };
      listeners.add(check);
      check();
    });
  return {
    socket,
    send: (text) => socket.write(text),
    received,
    receivedBytes: () => bytes,
    until: (pattern) => when(() => pattern.test(received())),
    ended: () => when(() => ended),
  };
}

export function http2Answer(stream: ClientHttp2Stream): Promise<HttpsResponse> {
  return new Promise((resolve, reject) => {
    let headers: IncomingHttpHeaders = {};
    const pieces: Buffer[] = [];
    stream.on('response', (received) => (headers = received));
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('end', () => resolve(responseOf(Number(headers[':status']), headers, Buffer.concat(pieces))));
    stream.on('error', reject);
    stream.on('aborted', () => reject(new Error('aborted')));
    stream.on('close', () => reject(new Error(`closed with ${stream.rstCode}`)));
  });
}

const responseOf = (status: number, headers: IncomingHttpHeaders, bytes: Buffer): HttpsResponse => ({
  status,
  headers,
  bytes,
  text: bytes.toString(),
});

export const protocols = ['HTTP/1.1', 'HTTP/2'] as const;
export type Protocol = (typeof protocols)[number];

export interface Sent {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: Buffer;
}

/** One request over either protocol, on a connection of its own. */
export async function send(served: Served, protocol: Protocol, sent: Sent = {}): Promise<HttpsResponse> {
  const { method = 'GET', target = '/', headers = {}, body } = sent;
  if (protocol === 'HTTP/2') {
    const stream = served.http2().request({ ...headers, ':method': method, ':path': target }, { endStream: !body });
    if (body) stream.end(body);
    return http2Answer(stream);
  }
  const client = await served.raw();
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((one) => `${name}: ${one}\r\n`));
  const length = body ? `Content-Length: ${body.length}\r\n` : '';
  client.send(`${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${length}${lines.join('')}\r\n`);
  if (body) client.send(body);
  const received = await client.ended();
  const at = received.indexOf('\r\n\r\n');
  const [first = '', ...rest] = received.slice(0, at).split('\r\n');
  const fields = rest.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 2),
  ]);
  const bytes = Buffer.from(received.slice(at + 4), 'latin1');
  return responseOf(Number(first.split(' ')[1]), Object.fromEntries(fields), bytes);
}

export const text = (body: string, status = 200): ApiResponse => ({
  status,
  headers: { 'Content-Type': 'text/plain' },
  body: Buffer.from(body),
});

/** Responds with what it received, so that a test can match responses to requests. */
export const echo: Handler<ApiRequest> = async (request) => {
  try {
    const body = await request.body(1_000_000);
    return text(`${request.method} ${request.target} ${request.protocol} ${body.length}`);
  } catch (error) {
    if (error instanceof BodyTooLargeError) return text('too large', 413);
    if (error instanceof BodyTooSlowError) return text('too slow', 408);
    throw error;
  }
};

/** A request in HTTP/1.1. */
export const get = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n');
export const post = (target: string, body: string, ...headers: string[]): string =>
  [`POST ${target} HTTP/1.1`, 'Host: a', ...headers, '', body].join('\r\n');

/** Measures that list what the listener counted. */
export function countingMeasures(): { readonly measures: ListenerMeasures; readonly counted: string[] } {
  const counted: string[] = [];
  return {
    counted,
    measures: {
      ...noListenerMeasures,
      countFailedCallback: (where) => counted.push(`failed ${where}`),
      countRefusedConnection: (reason) => counted.push(`refused ${reason}`),
      countCutOffResponse: (reason) => counted.push(`cut off ${reason}`),
      countRefusedBody: (reason) => counted.push(`body ${reason}`),
    },
  };
}

/** New clients of both protocols get their answers. */
export async function expectServed(served: Served): Promise<void> {
  const client = await served.raw();
  client.send(get('/still-here'));
  await client.until(/^HTTP\/1\.1 200 /);
  expect((await http2Answer(served.http2().request({ ':path': '/still-here' }))).status).toBe(200);
}
