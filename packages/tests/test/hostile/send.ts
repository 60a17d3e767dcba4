import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { systemClock as clock } from '@cluster-apiserver/base';
import { type HttpResponse, parseResponses, responseFault } from './http1-responses.ts';
import type { Case, WellFormedCase, RawCase } from './case.ts';
import { frameHeadBytes, frames, ping } from '@cluster-apiserver/testkit/http2-frames';
import type { Request } from './requests.ts';

export interface Target {
  readonly port: number;
  readonly ca: Buffer;
}

/** How long to wait for a frame that never comes, because an invalid frame made the server ignore the ping. */
const pingMs = 1_000;
/** A broken session may stay open as long as a slow reader; the server is asked afterwards whether it ends. */
const brokenMs = 2_000;
/** Longer than every time limit of the server for a client that has closed its side. */
const hangMs = 20_000;

/** Executes a case and returns the server's faults. */
export const send = (one: Case, target: Target): Promise<readonly string[]> =>
  one.over === 'h2 client' ? sendPolitely(one, target) : sendRaw(one, target);

function sendRaw(one: RawCase, { port, ca }: Target): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const address = { host: '127.0.0.1', port, allowHalfOpen: true };
    const socket: Socket =
      one.over === 'tcp' ? connectTcp(address) : connectTls({ ...address, ca, ALPNProtocols: [one.over] });
    const received: Buffer[] = [];
    let hung = false;
    const cancelHang = clock.after(hangMs, () => {
      hung = true;
      socket.destroy();
    });
    let cancelPing = (): void => {};
    const endConnection = (): void => {
      cancelPing();
      socket.end();
      if (one.over === 'h2') cancelPing = clock.after(brokenMs, () => socket.destroy());
    };
    socket.on('data', (piece: Buffer) => {
      received.push(piece);
      if (
        one.over === 'h2'
          ? isFinished(Buffer.concat(received))
          : one.method && isAnswered(Buffer.concat(received), one.method)
      )
        endConnection();
    });
    let reset = false;
    socket.on('error', () => (reset = true));
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      cancelHang();
      cancelPing();
      resolve(hung ? [`nothing happened for ${hangMs} ms`] : faultsIn(one, Buffer.concat(received), reset));
    });
    const writePieces = async (): Promise<void> => {
      for (const piece of one.pieces) await new Promise((left) => socket.write(piece, left));
      if (one.end === 'tear') socket.destroy();
      else if (one.over !== 'h2') {
        if (!one.method) endConnection();
      } else {
        socket.write(lastPing);
        cancelPing = clock.after(pingMs, endConnection);
      }
    };
    socket.once(one.over === 'tcp' ? 'connect' : 'secureConnect', () => void writePieces());
  });
}

/** Whether the response is complete, or is an endless one that has begun. */
function isAnswered(received: Buffer, method: string): boolean {
  const { answers, rest } = parseResponses(received, method);
  return rest === 'nothing' ? answers.some(({ status }) => status >= 200) : rest === 'begun' && isWatch(answers);
}

const isWatch = (answers: readonly HttpResponse[]): boolean =>
  answers.at(-1)?.status === 200 && answers.at(-1)?.headers.get('transfer-encoding') === 'chunked';

function faultsIn({ over, end, method }: RawCase, received: Buffer, reset: boolean): string[] {
  // HTTP/2 responses are checked by the well-formed cases; a client that resets its connection reads none.
  if (over !== 'http/1.1' || end === 'tear') return [];
  const { answers, rest } = parseResponses(received, method);
  const whole = rest === 'begun' ? answers.slice(0, -1) : answers;
  const faults = whole.flatMap(
    ({ status, headers, body }) => responseFault(status, headers.get('content-type'), body) ?? [],
  );
  // Only a watch is endless.
  const watching = rest === 'begun' && isWatch(answers);
  // Bytes after a message that ends the connection cause a reset, and the kernel discards unread data.
  const lost = rest === 'begun' && reset && method === undefined;
  if (rest !== 'nothing' && !watching && !lost)
    faults.push(`${rest} at the end of ${JSON.stringify(received.toString('latin1').slice(-500))}`);
  const final = answers.filter(({ status }) => status >= 200).length;
  if (method && final !== 1) faults.push(`${final} answers to one request`);
  return faults;
}

async function sendPolitely({ requests }: WellFormedCase, { port, ca }: Target): Promise<readonly string[]> {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { ca });
  session.on('error', () => {}); // each request also gets this error
  try {
    const faults = await Promise.all(requests.map((request) => sendRequest(session, request)));
    return faults.filter((fault) => fault !== undefined);
  } finally {
    session.destroy();
  }
}

/** A watch is endless, so its beginning suffices. */
function sendRequest(
  session: ReturnType<typeof connectHttp2>,
  { method, target, headers, body }: Request,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const fields = {
      ':method': method,
      ':path': target,
      ...Object.fromEntries(headers),
      ...(body && { 'content-type': body.contentType }),
    };
    let stream: ReturnType<typeof session.request>;
    try {
      stream = session.request(fields, { endStream: body === undefined });
    } catch {
      return resolve(undefined); // Node refuses to send such headers
    }
    const pieces: Buffer[] = [];
    let head: IncomingHttpHeaders | undefined;
    const done = (): void => {
      cancelHang();
      const wrong = head && responseFault(Number(head[':status']), head['content-type'], Buffer.concat(pieces));
      resolve(wrong && `${wrong} (${method} ${target})`);
    };
    const cancelHang = clock.after(hangMs, () => {
      resolve(`nothing happened for ${hangMs} ms: ${method} ${target}`);
      stream.destroy();
    });
    stream.on('response', (got) => {
      head = got;
      if (got['content-length'] === undefined && got[':status'] === 200) stream.destroy();
    });
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('error', () => {}); // 'close' follows
    // In Node's client, a stream never closes unless its response body is read.
    stream.on('end', done);
    stream.on('close', done);
    if (body) stream.end(body.bytes);
  });
}

/** The final frame: a response to it shows that the server has read all earlier frames. */
const lastPing = ping(Buffer.from('hostile!'));

/** Whether the server has acknowledged the final ping or sent GOAWAY. */
function isFinished(received: Buffer): boolean {
  for (let at = 0; received.length - at >= frameHeadBytes; ) {
    const end = at + frameHeadBytes + received.readUIntBE(at, 3);
    const [type, flags] = [received[at + 3], received[at + 4] ?? 0];
    const pong = type === frames.ping && (flags & 1) === 1;
    if (type === frames.goaway) return true;
    if (pong && received.subarray(at + frameHeadBytes, end).equals(lastPing.subarray(frameHeadBytes))) return true;
    at = end;
  }
  return false;
}
