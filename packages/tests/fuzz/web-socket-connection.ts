import { connect } from 'node:tls';
import { systemClock as clock } from '@cluster-apiserver/base';
import { parseResponses, responseFault } from '../test/hostile/http1-responses.ts';
import type { Http2Target } from '../test/hostile/http2-connection.ts';
import type { WebSocketInput } from './input.ts';

/** The watches end after a second; both directions of a WebSocket must then close. */
const closedMs = 15_000;
/** The client disconnects after this time: most of its messages do not make the server close. */
const patienceMs = 300;
const headEnd = Buffer.from('\r\n\r\n');

/** Sends the input on its own connection and returns the server's faults. */
export function openWebSocket(
  { opening, messages }: WebSocketInput,
  { port, ca }: Http2Target,
): Promise<readonly string[]> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['http/1.1'] });
    const pieces: Buffer[] = [];
    let hung = false;
    const cancelHang = clock.after(closedMs, () => {
      hung = true;
      socket.destroy();
    });
    socket.on('error', () => {}); // 'close' follows
    socket.on('data', (piece: Buffer) => pieces.push(piece));
    socket.on('close', () => {
      cancelHang();
      resolve(hung ? [`the connection was still open after ${closedMs} ms`] : webSocketFaults(Buffer.concat(pieces)));
    });
    socket.once('secureConnect', () => {
      socket.write(Buffer.concat([opening, ...messages]));
      clock.after(patienceMs, () => socket.destroySoon());
    });
  });
}

/** Finds faults in the bytes that the server sent to a client that opened a WebSocket. */
export function webSocketFaults(received: Buffer): string[] {
  if (received.length === 0) return [];
  const end = received.indexOf(headEnd);
  if (end < 0) return [`no response: ${JSON.stringify(received.toString('latin1').slice(0, 200))}`];
  if (!received.subarray(0, end).toString('latin1').startsWith('HTTP/1.1 101')) {
    const { answers, rest } = parseResponses(received, undefined);
    const faults = answers.flatMap(
      ({ status, headers, body }) => responseFault(status, headers.get('content-type'), body) ?? [],
    );
    return rest === 'something else' ? [...faults, 'malformed HTTP/1.1'] : faults;
  }
  for (let at = end + headEnd.length; at + 2 <= received.length; ) {
    const [first = 0, second = 0] = [received[at], received[at + 1]];
    const opcode = first & 15;
    if ((first & 0x70) !== 0 || (second & 128) !== 0 || ![0, 1, 2, 8, 9, 10].includes(opcode))
      return [`malformed WebSocket frame ${first.toString(16)} ${second.toString(16)}`];
    const short = second & 127;
    if (opcode >= 8 && short > 125) return ['a control frame is longer than 125 bytes'];
    const headBytes = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (at + headBytes > received.length) return [];
    const length =
      short === 126 ? received.readUInt16BE(at + 2) : short === 127 ? Number(received.readBigUInt64BE(at + 2)) : short;
    at += headBytes + length;
  }
  return [];
}
