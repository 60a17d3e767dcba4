/** gRPC over node:http2, as much of it as etcd needs. This is the hot path of the whole server: it stays bare. */
import http2, { type ClientHttp2Stream, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http2';
import type { Clock } from '@cluster-apiserver/base';
import { decodeStatusMessage, frame, unframer } from './grpc-frames.ts';
import { openSession, type Session, type TlsCredentials } from './session.ts';
import { type Connect, EtcdFault, type MemberStream, type Transport, type UnaryOptions } from './transport.ts';

const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = http2.constants;

const okCode = 0;
const unknownCode = 2;
const unavailableCode = 14;

/**
 * A timer this late says that our own event loop stood still, not that the member is slow: its answer may lie in the
 * socket, unread. It gets one more turn of the loop.
 */
const lateTimerMs = 50;

/** Messages of a stream that wait for their reader before the member is held back. */
const waitingMessagesMax = 16;

export const http2Connect =
  (clock: Clock, tls?: TlsCredentials): Connect =>
  (endpoint) =>
    http2Transport(endpoint, clock, tls);

function http2Transport(endpoint: string, clock: Clock, tls: TlsCredentials | undefined): Transport {
  let session: Session | undefined;
  let closed = false;
  // After GOAWAY a session takes no more requests but finishes the old ones, so it is replaced and not torn down.
  const current = (): Session => {
    if (closed) throw new Error('the client is closed');
    if (!session?.usable) session = openSession(endpoint, tls, clock);
    return session;
  };
  const request = (headers: OutgoingHttpHeaders): { session: Session; stream: ClientHttp2Stream } => {
    try {
      const session = current();
      return { session, stream: session.request(headers) };
    } catch (cause) {
      throw new EtcdFault('unsent', unavailableCode, `cannot reach ${endpoint}`, { cause });
    }
  };

  return {
    unary: (path, message, options) =>
      new Promise((resolve, reject) => {
        const { session, stream } = request(unaryHeaders(path, options));
        const answer = readAnswer(stream, (fault, message) => {
          cancelTimer();
          if (fault) reject(fault);
          else resolve(message);
        });
        let graceGiven = false;
        const dueMs = clock.monotonicMs() + options.timeoutMs;
        const timeOver = (): void => {
          if (clock.monotonicMs() - dueMs > lateTimerMs && !graceGiven) {
            graceGiven = true;
            cancelTimer = clock.after(1, timeOver);
            return;
          }
          const fate = session.connected ? 'lost' : 'unsent';
          answer.end(new EtcdFault(fate, unavailableCode, `${endpoint} gave no answer within ${options.timeoutMs} ms`));
          stream.close(NGHTTP2_CANCEL);
          session.suspect();
        };
        let cancelTimer = clock.after(options.timeoutMs, timeOver);
        stream.on('error', (error) => {
          answer.failed = error;
        });
        stream.on('close', () => {
          // An error is dear to make, and nearly every stream closes behind its answer.
          if (!answer.ended) answer.end(faultOf(endpoint, session, stream, answer.failed));
        });
        stream.end(frame(message));
      }),
    stream: (path) => {
      try {
        const { session, stream } = request({ ...fixedHeaders, ':path': path, hasleader: 'true' });
        return memberStream(endpoint, session, stream);
      } catch (fault) {
        return lostStream(fault);
      }
    },
    close: () => {
      closed = true;
      session?.destroy();
    },
  };
}

const fixedHeaders: OutgoingHttpHeaders = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

function unaryHeaders(path: string, { timeoutMs, requireLeader }: UnaryOptions): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    'grpc-timeout': `${Math.ceil(timeoutMs)}m`,
  };
  // etcd then answers "no leader" at once; without it, it would wait for a leader for 7 seconds.
  if (requireLeader) headers.hasleader = 'true';
  return headers;
}

interface Answer {
  failed: Error | undefined;
  readonly ended: boolean;
  /** The first end counts; those after it say nothing new. */
  end(fault: EtcdFault): void;
}

/** Reads one message and its status, whichever of headers and trailers brings it. */
function readAnswer(stream: ClientHttp2Stream, done: (fault: EtcdFault | undefined, message: Buffer) => void): Answer {
  const unframe = unframer();
  let message: Buffer | undefined;
  let ended = false;
  const end = (fault: EtcdFault | undefined): void => {
    if (ended) return;
    ended = true;
    done(fault, message ?? noMessage);
  };
  const finish = (headers: IncomingHttpHeaders): void => {
    const fault = refusalIn(headers);
    end(!fault && !message ? new EtcdFault('lost', unknownCode, 'an answer without a message') : fault);
  };
  stream.on('response', (headers) => {
    if (headers['grpc-status'] !== undefined) finish(headers);
    else if (headers[':status'] !== 200)
      end(new EtcdFault('lost', unavailableCode, `HTTP status ${headers[':status']}`));
  });
  stream.on('data', (piece: Buffer) => {
    try {
      message = unframe.push(piece)[0] ?? message;
    } catch (cause) {
      end(new EtcdFault('lost', unknownCode, 'an unreadable answer', { cause }));
      stream.close(NGHTTP2_CANCEL);
    }
  });
  stream.on('trailers', finish);
  return {
    failed: undefined,
    get ended() {
      return ended;
    },
    end,
  };
}

const noMessage = Buffer.alloc(0);

function refusalIn(headers: IncomingHttpHeaders): EtcdFault | undefined {
  const code = Number(headers['grpc-status'] ?? unknownCode);
  if (code === okCode) return undefined;
  return new EtcdFault('refused', code, decodeStatusMessage(String(headers['grpc-message'] ?? '')));
}

function faultOf(endpoint: string, session: Session, stream: ClientHttp2Stream, cause: Error | undefined): EtcdFault {
  const unsent = !session.connected || stream.rstCode === NGHTTP2_REFUSED_STREAM;
  return new EtcdFault(unsent ? 'unsent' : 'lost', unavailableCode, `the connection to ${endpoint} was lost`, {
    cause,
  });
}

function memberStream(endpoint: string, session: Session, stream: ClientHttp2Stream): MemberStream {
  const unframe = unframer();
  const waiting: Buffer[] = [];
  let ended = false;
  let fault: EtcdFault | undefined;
  let failed: Error | undefined;
  let closedByUs = false;
  let wake = (): void => {};
  const end = (withFault?: EtcdFault): void => {
    if (ended) return;
    ended = true;
    fault = withFault;
    wake();
  };
  stream.on('response', (headers) => {
    if (headers['grpc-status'] !== undefined) end(refusalIn(headers));
    else if (headers[':status'] !== 200)
      end(new EtcdFault('lost', unavailableCode, `HTTP status ${headers[':status']}`));
  });
  stream.on('data', (piece: Buffer) => {
    try {
      waiting.push(...unframe.push(piece));
    } catch (cause) {
      end(new EtcdFault('lost', unknownCode, 'an unreadable message', { cause }));
      stream.close(NGHTTP2_CANCEL);
    }
    if (waiting.length > waitingMessagesMax) stream.pause();
    wake();
  });
  stream.on('trailers', (headers) => end(refusalIn(headers)));
  stream.on('error', (error) => {
    failed = error;
  });
  stream.on('close', () => end(closedByUs ? undefined : faultOf(endpoint, session, stream, failed)));

  const close = (): void => {
    closedByUs = true;
    end();
    stream.close(NGHTTP2_CANCEL);
  };
  async function* messages(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        for (let message = waiting.shift(); message; message = waiting.shift()) {
          if (waiting.length === 0) stream.resume();
          yield message;
        }
        if (fault) throw fault;
        if (ended) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      close();
    }
  }
  return { send: (message) => stream.write(frame(message)), messages: messages(), close };
}

/** A stream that could not even be opened. */
function lostStream(fault: unknown): MemberStream {
  const messages: AsyncIterable<Buffer> = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(fault) }) };
  return { send: () => {}, messages, close: () => {} };
}
