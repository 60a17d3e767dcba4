import { type ClientHttp2Session, connect, type ClientHttp2Stream } from 'node:http2';
import https from 'node:https';
import type { Credentials } from '../fault/client.ts';

/** A request whose answer has no end of its own. */
export interface OpenWatch {
  /** Breaks it off without a word to anybody. */
  abort(): void;
}

export interface WatchListener {
  status(code: number, retryAfter: string | undefined): void;
  /** Without the end of the line. */
  line(text: string): void;
  /** Called once, whoever ended it. */
  closed(): void;
}

/** How watchers reach the server. */
export interface WatchTransport {
  open(url: string, path: string, listener: WatchListener): OpenWatch;
  close(): void;
}

/** A connection for every watch. */
export function http1Transport({ ca, token }: Credentials): WatchTransport {
  const agent = new https.Agent({ ca, keepAlive: false });
  return {
    open: (url, path, listener) => {
      const request = https.get(`${url}${path}`, { agent, headers: { authorization: `Bearer ${token}` } });
      // Both the request and its answer tell of a broken connection by an error; that it ended is all there is to know.
      request.on('error', () => {});
      request.on('close', () => listener.closed());
      request.on('response', (response) => {
        listener.status(response.statusCode ?? 0, response.headers['retry-after']);
        response.on('error', () => {});
        response.on('data', linesInto(listener));
      });
      return { abort: () => request.destroy() };
    },
    close: () => agent.destroy(),
  };
}

/** All watches of one server on one connection, and another when that one has ended or is to be left. */
export function http2Transport({ ca, token }: Credentials): WatchTransport {
  const sessions = new Map<string, ClientHttp2Session>();
  const sessionTo = (url: string): ClientHttp2Session => {
    const known = sessions.get(url);
    if (known && !known.closed && !known.destroyed) return known;
    const session = connect(url, { ca });
    sessions.set(url, session);
    session.on('error', () => {}); // every watch on it hears of it as well
    session.on('goaway', () => {
      if (sessions.get(url) === session) sessions.delete(url);
    });
    return session;
  };
  return {
    open: (url, path, listener) => {
      const stream: ClientHttp2Stream = sessionTo(url).request({ ':path': path, authorization: `Bearer ${token}` });
      stream.on('error', () => {});
      stream.on('close', () => listener.closed());
      stream.on('response', (headers) => {
        listener.status(Number(headers[':status']), headers['retry-after']);
        // Not before: what comes in one packet with the head would be told of first.
        stream.on('data', linesInto(listener));
      });
      return { abort: () => stream.close() };
    },
    close: () => sessions.forEach((session) => session.destroy()),
  };
}

/** Bytes become characters one by one: whoever reads a line for the first time knows what they mean. */
function linesInto(listener: WatchListener): (piece: Buffer) => void {
  let rest = '';
  return (piece) => {
    const lines = (rest + piece.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) listener.line(line);
  };
}
