import { type ClientHttp2Session, connect, type ClientHttp2Stream } from 'node:http2';
import https from 'node:https';
import type { Access, Credentials } from './api-client.ts';

/** A watch request. */
export interface OpenWatch {
  /** Destroys the connection or the stream. */
  abort(): void;
}

export interface WatchListener {
  status(code: number, retryAfter: string | undefined): void;
  /** Without the line feed. */
  line(text: string): void;
  /** Called once, whichever side ended the watch. */
  closed(): void;
}

/** A protocol for watches. */
export interface WatchTransport {
  open(url: string, path: string, listener: WatchListener): OpenWatch;
  close(): void;
}

/** HTTP/1.1 with one connection per watch. */
export function http1Transport({ ca, cert, key, token }: Access): WatchTransport {
  const agent = new https.Agent({ ca, cert, key, keepAlive: false });
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return {
    open: (url, path, listener) => {
      const request = https.get(`${url}${path}`, { agent, headers });
      // A broken connection causes errors of both the request and the response; 'close' suffices.
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

/** HTTP/2 with one connection per server for all watches, replaced when it ends or after GOAWAY. */
export function http2Transport({ ca, token }: Credentials): WatchTransport {
  const sessions = new Map<string, ClientHttp2Session>();
  const sessionTo = (url: string): ClientHttp2Session => {
    const known = sessions.get(url);
    if (known && !known.closed && !known.destroyed) return known;
    const session = connect(url, { ca });
    sessions.set(url, session);
    session.on('error', () => {}); // each watch on it also ends
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
        // Registered after the headers, because data of the same packet must not be delivered earlier.
        stream.on('data', linesInto(listener));
      });
      return { abort: () => stream.close() };
    },
    close: () => sessions.forEach((session) => session.destroy()),
  };
}

/** Decodes bytes as latin1, which is cheap; a reader decodes lines as UTF-8 when it parses them. */
function linesInto(listener: WatchListener): (piece: Buffer) => void {
  let rest = '';
  return (piece) => {
    const lines = (rest + piece.toString('latin1')).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) listener.line(line);
  };
}
